package query

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/joined"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// Record is a whole trajectory with all that is known of it: its rewards are those of
// the scores, and its advantage that of its group.
type Record struct {
	formats.Trajectory
	Is     Trajectory // its row in the index, with the decision and why values are null
	Detail string     // of the decision, if curate dropped it
}

// Trajectory reads a whole trajectory. An id that the dataset does not have is
// storage.ErrNotExist.
func (x *Index) Trajectory(ctx context.Context, id string) (*Record, error) {
	row, ok := x.Find(id)
	if !ok {
		return nil, fault.Invalid(x.From.Rows.URI(), "the list of trajectories has their ids", storage.ErrNotExist,
			"it has no trajectory %q", id)
	}
	out, err := x.Records(ctx, []uint32{row})
	if err != nil {
		return nil, err
	}
	return &out[0], nil
}

// Records reads rows whole, adjacent ones together. Rows ascend.
func (x *Index) Records(ctx context.Context, rows []uint32) ([]Record, error) {
	out := make([]Record, 0, len(rows))
	for near := range Near(rows, 1) {
		for t, err := range x.joined().Each(ctx, RangeOf(near), joined.Whole) {
			if err != nil {
				return nil, err
			}
			out = append(out, Record{Trajectory: *t, Is: x.At(rows[len(out)])})
			x.join(&out[len(out)-1])
		}
	}
	return out, x.details(ctx, out)
}

// joined returns the dataset whose thin rows have the rewards.
func (x *Index) joined() *joined.Source {
	s := &joined.Source{Rows: x.From.Base, Base: x.From.Base}
	switch {
	case x.From.Scores != nil:
		s.Rows = x.From.Scores
	case x.From.Members != nil:
		s.Rows = x.From.Members
	}
	return s
}

// join sets what groups say of a trajectory, which the index has.
func (x *Index) join(r *Record) {
	if x.From.Members == nil {
		return
	}
	r.GroupID, r.Advantage = r.Is.Group, nil
	if a := r.Is.Advantage; a == a { // not NaN
		r.Trajectory.Advantage = &a
	}
}

// maxBetween is how many rows of decisions that are not needed are read rather than
// asked for the next one that is.
const maxBetween = 1000

// details reads the details of decisions to drop trajectories, near ones together.
func (x *Index) details(ctx context.Context, records []Record) error {
	dropped := map[int64]*Record{} // by row of the decision
	for i := range records {
		is := records[i].Is
		if is.Decision == "" || is.Decision == Kept {
			continue
		}
		row := int64(is.Row)
		if x.decisionRow != nil {
			row = int64(x.decisionRow[row])
		}
		dropped[row] = &records[i]
	}
	type decision struct {
		Detail string `parquet:"detail,optional"`
	}
	for near := range Near(slices.Sorted(maps.Keys(dropped)), maxBetween) {
		if err := eachOf(ctx, x.From.Decisions, schema.TableDecisions, near, func(row int64, d *decision) {
			dropped[row].Detail = strings.Clone(d.Detail)
		}); err != nil {
			return err
		}
	}
	return nil
}

// How the texts of a page's rows are read.
const (
	readAcross = 128 << 10 // bytes of rows between two that are read in one go
	textReads  = 8         // at a time
)

// Texts calls f with the example and the answer of rows, which are in any order; f is
// called by one goroutine at a time and in another order.
func (x *Index) Texts(ctx context.Context, rows []uint32, f func(row uint32, example, answer string)) error {
	type texts struct {
		Example string `parquet:"example"`
		Answer  string `parquet:"answer,optional"`
	}
	apart := uint32(readAcross * x.From.Base.Rows / max(1, x.From.Base.Bytes))
	sorted := slices.Clone(rows)
	slices.Sort(sorted)
	var mu sync.Mutex
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(textReads)
	for near := range Near(sorted, max(1, apart)) {
		all.Go(func() error {
			return eachOf(ctx, x.From.Base, "", near, func(row uint32, t *texts) {
				mu.Lock()
				defer mu.Unlock()
				f(row, t.Example, t.Answer)
			})
		})
	}
	return all.Wait()
}

// Near yields rows in pieces that are worth reading in one go: those that ascend by at most so many.
func Near[R int64 | uint32](rows []R, gap R) iter.Seq[[]R] {
	return func(yield func([]R) bool) {
		for len(rows) > 0 {
			n := 1
			for n < len(rows) && rows[n] > rows[n-1] && rows[n]-rows[n-1] <= gap {
				n++
			}
			if !yield(rows[:n]) {
				return
			}
			rows = rows[n:]
		}
	}
}

// RangeOf returns the range of ascending rows.
func RangeOf[R int64 | uint32](rows []R) dataset.Range {
	return dataset.Range{First: int64(rows[0]), Rows: int64(rows[len(rows)-1]-rows[0]) + 1}
}

// eachOf calls f with ascending rows of a table, which it reads in one go.
func eachOf[T any, R int64 | uint32](ctx context.Context, d *dataset.Dataset, table string, rows []R,
	f func(row R, t *T)) error {
	row := rows[0]
	for t, err := range dataset.Each[T](ctx, d, table, RangeOf(rows)) {
		if err != nil {
			return err
		}
		if _, wanted := slices.BinarySearch(rows, row); wanted {
			f(row, t)
		}
		row++
	}
	return nil
}
