package curate

import (
	"context"
	"fmt"
	"iter"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages"
)

// sideTables copies the tables _pairs and _labels that group wrote with its rows, as far as they
// are about kept trajectories. A pair with a dropped member is dropped too, for the reason of
// the chosen one, or else of the rejected one. A table is written if any of the sets has it.
//
// The balance of labels (formats.KTOWeights) is that of the copied labels, which the manifest's
// facts count: dropped labels are not trained on and have no weight.
type sideTables struct {
	pairs  carriedTable[formats.Pair]
	labels carriedTable[formats.Label]

	desirable, undesirable int64 // labels copied
}

func newSideTables(in *input, shard *shards.Shard) *sideTables {
	s := &sideTables{}
	s.pairs = carriedTable[formats.Pair]{table: schema.TablePairs, of: func(p *formats.Pair) (string, string, string) {
		return p.GroupID, p.ChosenID, p.RejectedID
	}, kept: func(p *formats.Pair) { s.pairs.bytes += p.Size() }}
	s.labels = carriedTable[formats.Label]{table: schema.TableLabels, of: func(l *formats.Label) (string, string, string) {
		return l.GroupID, l.TrajectoryID, l.TrajectoryID
	}, kept: func(l *formats.Label) {
		s.labels.bytes += l.Size()
		if l.Desirable {
			s.desirable++
		} else {
			s.undesirable++
		}
	}}
	for _, table := range in.carried() {
		if table == schema.TablePairs {
			s.pairs.out = shards.NewTable[formats.Pair](shard, table, -1)
		} else {
			s.labels.out = shards.NewTable[formats.Label](shard, table, -1)
		}
	}
	return s
}

// begin starts a slice of a set; end checks that all of it was read.
func (s *sideTables) begin(ctx context.Context, from *set, groups *Groups, slice dataset.Range) error {
	if err := s.pairs.begin(ctx, from, groups, slice); err != nil {
		return err
	}
	return s.labels.begin(ctx, from, groups, slice)
}

func (s *sideTables) end() error {
	if err := s.pairs.end(); err != nil {
		return err
	}
	return s.labels.end()
}

func (s *sideTables) close() {
	s.pairs.close()
	s.labels.close()
}

// add is called with every group, in the base's order.
func (s *sideTables) add(ctx context.Context, d *decided) error {
	if err := s.pairs.add(ctx, d); err != nil {
		return err
	}
	return s.labels.add(ctx, d)
}

// Facts. Dropped rows are counted by reason: pairs_dropped.flat.
const (
	factPairs         = "pairs"
	factPairsDropped  = "pairs_dropped."
	factDesirable     = "desirable"
	factUndesirable   = "undesirable"
	factLabelsDropped = "labels_dropped."
)

func (s *sideTables) facts(into map[string]float64) {
	if s.pairs.out != nil {
		into[factPairs] = float64(s.pairs.rows)
		for reason, n := range s.pairs.drops {
			into[factPairsDropped+reason] = float64(n)
		}
	}
	if s.labels.out != nil {
		into[factUndesirable], into[factDesirable] = float64(s.undesirable), float64(s.desirable)
		for reason, n := range s.labels.drops {
			into[factLabelsDropped+reason] = float64(n)
		}
	}
}

// sideMessage describes what was copied; "" if there was nothing to copy.
func sideMessage(f map[string]float64) (text string) {
	if n, has := f[factPairs]; has {
		dropped, why := lost(f, factPairsDropped)
		text += fmt.Sprintf("; %.0f of %s kept%s", n, plural.Of(n+dropped, "pair"), why)
	}
	if d, has := f[factDesirable]; has {
		u := f[factUndesirable]
		wd, wu := formats.KTOWeights(int64(d), int64(u))
		text += fmt.Sprintf("; %.0f desirable, %.0f undesirable: KTO weights %.4g and %.4g", d, u, wd, wu)
	}
	return text
}

// carriedTable copies one table, whose rows are in the order of their groups.
// It holds a few rows at a time, however many a group has.
type carriedTable[T any] struct {
	table string
	of    func(*T) (group, one, other string) // the trajectories that a row is about
	kept  func(*T)
	out   *shards.TableWriter[T] // nil: no set has the table
	rows  int64                  // copied
	bytes int                    // of the row group being written
	drops map[string]int64

	from *set
	r    *dataset.Reader[T] // nil: this set has no such table
	left int64              // left to read in the slice
	buf  []T                // read and not yet processed
	room [16]T
	some []T
	at   map[string]int // positions of a group's members
}

func (a *carriedTable[T]) begin(ctx context.Context, from *set, groups *Groups, slice dataset.Range) error {
	a.close()
	a.from, a.left, a.buf = from, 0, nil
	if _, has := from.members.Tables[a.table]; !has {
		return nil
	}
	rows, err := from.tableRows(ctx, a.table, groups, slice)
	if err != nil {
		return err
	}
	a.left = rows.Rows
	a.r, err = dataset.NewReader[T](ctx, from.members, a.table, rows)
	return err
}

// tableRows finds the rows of a table that belong to a slice's groups.
func (s *set) tableRows(ctx context.Context, table string, groups *Groups, slice dataset.Range) (dataset.Range, error) {
	all := dataset.Range{Rows: s.members.Tables[table].Rows}
	if slice == s.base.All() {
		return all, nil
	}
	type column struct {
		GroupID string `parquet:"group_id,dict"`
	}
	var found dataset.Range
	next, stop := iter.Pull2(groups.every(s.first, s.end))
	defer stop()
	g, err, more := next()
	if err != nil {
		return found, err
	}
	for c, err := range dataset.Each[column](ctx, s.members, table, all) {
		for err == nil && more && g.ID != c.GroupID {
			g, err, more = next()
		}
		switch {
		case err != nil:
			return found, err
		case !more:
			return found, s.outOfOrder(table, c.GroupID)
		case g.FirstRow < slice.First:
			found.First++
		case g.FirstRow < slice.First+slice.Rows:
			found.Rows++
		}
	}
	return found, nil
}

func (s *set) outOfOrder(table, group string) error {
	return s.damaged("table %s: group %q is not in the order of its base's rows", table, group)
}

// next returns the next row, if it belongs to a group.
func (a *carriedTable[T]) next(group string) (*T, error) {
	if len(a.buf) == 0 && a.left > 0 {
		n := min(int64(len(a.room)), a.left)
		k, err := a.r.Read(a.room[:n])
		if int64(k) < n {
			if err = notEOF(err); err == nil {
				err = a.from.damaged("table %s ends early", a.table)
			}
			return nil, err
		}
		a.buf, a.left = a.room[:n], a.left-n
	}
	if len(a.buf) == 0 {
		return nil, nil
	}
	row := &a.buf[0]
	if g, _, _ := a.of(row); g != group {
		return nil, nil
	}
	a.buf = a.buf[1:]
	return row, nil
}

func (a *carriedTable[T]) add(ctx context.Context, d *decided) error {
	if a.r == nil {
		return nil
	}
	clear(a.at)
	group := d.members[0].GroupID
	for {
		row, err := a.next(group)
		if err != nil {
			return err
		}
		if row == nil {
			return a.flush(ctx)
		}
		reason, err := a.judge(d, row)
		if err != nil {
			return err
		}
		if reason != "" {
			stages.Count(&a.drops, reason, 1)
			continue
		}
		a.kept(row)
		if a.some = append(a.some, *row); len(a.some) < len(a.room) {
			continue
		}
		if err := a.flush(ctx); err != nil {
			return err
		}
	}
}

// judge returns why a row is dropped; "" if all its trajectories are kept.
func (a *carriedTable[T]) judge(d *decided, row *T) (string, error) {
	if len(a.at) == 0 {
		if a.at == nil {
			a.at = map[string]int{}
		}
		for k := range d.members {
			a.at[d.members[k].TrajectoryID] = k
		}
	}
	group, one, other := a.of(row)
	for _, id := range []string{one, other} {
		k, is := a.at[id]
		if !is {
			return "", a.from.damaged("table %s: trajectory %q is not in group %q", a.table, id, group)
		}
		if reason := d.verdicts[k].Reason; reason != "" {
			return reason, nil
		}
	}
	return "", nil
}

func (a *carriedTable[T]) flush(ctx context.Context) error {
	err := a.out.Write(ctx, a.some)
	a.rows += int64(len(a.some))
	clear(a.some)
	a.some = a.some[:0]
	if err != nil || a.bytes < formats.PairBytes {
		return err
	}
	a.bytes = 0
	return a.out.EndRowGroup()
}

// end checks for rows that belong to no group.
func (a *carriedTable[T]) end() error {
	if a.r == nil || len(a.buf) == 0 && a.left == 0 {
		return nil
	}
	group := "another"
	if len(a.buf) > 0 {
		group, _, _ = a.of(&a.buf[0])
	}
	return a.from.outOfOrder(a.table, group)
}

func (a *carriedTable[T]) close() {
	if a.r != nil {
		_ = a.r.Close() // it was only read
		a.r = nil
	}
}
