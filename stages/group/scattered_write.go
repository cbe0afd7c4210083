package group

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/spill"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/group/pairs"
)

// rowWriter writes members in the base's order, given their results in the same
// order. With preferences it reads on beyond the slice, where members of its
// groups may be, and collects their messages.
type rowWriter struct {
	*job
	ctx   context.Context
	rows  reader[row]
	next  int64 // row of the base that is read next
	table *shards.TableWriter[formats.Member]
	stats *shards.TableWriter[formats.GroupStats]

	written int64
	buf     []formats.Member
	pending []formats.GroupStats

	messages *dataset.Reader[formats.Trajectory] // nil without preferences
	pairs    *spill.Sorter                       // the messages of members, by the group's first row and their own
}

func (j *job) newRowWriter(ctx context.Context) (*rowWriter, error) {
	w := &rowWriter{job: j, ctx: ctx, table: j.members(), stats: j.groups(), next: j.slice.First}
	scope := j.slice
	var err error
	if j.o.preferences() {
		scope = j.in.base.All()
		w.next = 0
		w.pairs = spill.New(j.o.Spill.Dir, j.o.Spill.Memory/2)
		if w.messages, err = pairs.OpenRows(ctx, j.in.base, scope); err != nil {
			return nil, err
		}
	}
	w.rows, err = open[row](ctx, j.in, scope)
	return w, err
}

func (w *rowWriter) close() {
	_ = w.rows.Close() // it was only read
	if w.pairs != nil {
		_ = w.messages.Close()
		_ = w.pairs.Close()
	}
}

func (w *rowWriter) add(at int64, f rowResult) error {
	r, s, err := w.read(at)
	if err != nil {
		return err
	}
	m := r.member(f.GroupID)
	m.Advantage, m.NoAdvantage, m.Advantages, m.Losses = f.Advantage, f.NoAdvantage, f.Advantages, f.Losses
	if w.pairs != nil && w.holds(f.First) {
		if err := w.keep(at, f.First, m, s); err != nil {
			return err
		}
	}
	if !w.holds(at) {
		return nil
	}
	w.tally.member(&m, w.o.solved())
	if f.Group != nil {
		if !f.Group.Stats.Forks {
			w.tally.group(f.Group.Size, f.Group.Compared, f.Group.Flat)
		}
		w.pending = append(w.pending, f.Group.Stats)
	}
	if w.buf = append(w.buf, m); len(w.buf) < 512 {
		return nil
	}
	return w.flush()
}

// read reads up to a row.
func (w *rowWriter) read(at int64) (r row, s formats.Trajectory, err error) {
	var rows [1]row
	var messages [1]formats.Trajectory
	for ; w.next <= at && err == nil; w.next++ {
		if _, err = w.rows.Read(rows[:]); err == nil && w.messages != nil {
			_, err = w.messages.Read(messages[:])
		}
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return rows[0], messages[0], err
}

func (w *rowWriter) flush() error {
	if err := w.table.Write(w.ctx, w.buf); err != nil {
		return err
	}
	w.written += int64(len(w.buf))
	w.meter.Add(int64(len(w.buf)))
	err := w.stats.Write(w.ctx, w.pending)
	w.buf, w.pending = w.buf[:0], w.pending[:0]
	return err
}

type memberRow struct {
	Member   formats.Member
	Messages formats.Trajectory
}

// keep stores what preferences need.
func (w *rowWriter) keep(at, first int64, m formats.Member, s formats.Trajectory) error {
	m.Rewards, m.ShapedRewards = nil, nil
	for i := range s.Messages {
		x := &s.Messages[i]
		x.TokenIDs, x.Logprobs, x.PromptDeltaIDs = nil, nil, nil
	}
	key := spill.Key(nil, uint64(first), uint64(at))
	return w.pairs.Add(key, spill.Append(nil, &memberRow{m, s}))
}

// pair makes the preferences of each group that begins in the slice.
func (w *rowWriter) pair() error {
	if w.pairs == nil {
		return nil
	}
	p := w.pairer()
	var group []byte
	var members []formats.Member
	var rows []formats.Trajectory
	end := func() error {
		if len(members) == 0 {
			return nil
		}
		err := p.Group(w.ctx, members, rows)
		members, rows = members[:0], rows[:0]
		return err
	}
	for r, err := range w.pairs.Sorted() {
		if err != nil {
			return err
		}
		if !bytes.Equal(group, r.Key[:8]) {
			if err := end(); err != nil {
				return err
			}
			group = append(group[:0], r.Key[:8]...)
		}
		var s memberRow
		spill.Decode(r.Value, &s)
		members, rows = append(members, s.Member), append(rows, s.Messages)
	}
	return end()
}

type rowResult struct {
	GroupID     string
	First       int64 // the group's first row
	Advantage   *float64
	NoAdvantage string
	Advantages  []training.MessageAdvantage
	Losses      []training.MessageLoss
	Group       *groupResult // in the group's first row; else nil
}

type groupResult struct {
	Stats          formats.GroupStats
	Size           training.AdvantageSize
	Compared, Flat bool // Flat: its rewards are
}
