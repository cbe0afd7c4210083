package convert

import (
	"context"
	"encoding/binary"
	"errors"
	"iter"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/spill"
)

// errScattered is the end of an import whose groups are not adjacent; it begins
// again with a sorter.
var errScattered = errors.New("the rows of a group are not adjacent")

// gatherer collects rows into groups and passes each on.
type gatherer interface {
	add(ctx context.Context, r *row) error
	end(ctx context.Context) error
	close()
}

// adjacent passes a group on when a row of another one comes, and fails with
// errScattered when it finds a row of an earlier group, at the latest in the end.
// Two groups with the same hash cost time, and nothing else.
type adjacent struct {
	emit  func(context.Context, []*row) error
	group []*row
	begun *spill.Set
}

// setMemory is the memory for finding groups that begin twice before it spills: a
// quarter of a million of them.
const setMemory = 2 << 20

func newAdjacent(o *ImportOptions, emit func(context.Context, []*row) error) *adjacent {
	return &adjacent{emit: emit, begun: spill.NewSet(o.Spill.Dir, min(setMemory, o.Spill.Memory))}
}

func (a *adjacent) close() { _ = a.begun.Close() } // its content is no longer needed

func (a *adjacent) add(ctx context.Context, r *row) error {
	if len(a.group) > 0 && (r.Row.ExampleID != a.group[0].Row.ExampleID || r.Row.Epoch != a.group[0].Row.Epoch) {
		if err := a.pass(ctx); err != nil {
			return err
		}
	}
	if len(a.group) == 0 {
		twice, err := a.begun.Add(r.key().lo)
		switch {
		case err != nil:
			return err
		case twice:
			return errScattered
		}
	}
	a.group = append(a.group, r)
	return nil
}

// pass passes the group on.
func (a *adjacent) pass(ctx context.Context) error {
	err := a.emit(ctx, a.group)
	clear(a.group)
	a.group = a.group[:0]
	return err
}

func (a *adjacent) end(ctx context.Context) error {
	if len(a.group) == 0 {
		return nil
	}
	if err := a.pass(ctx); err != nil {
		return err
	}
	twice, err := a.begun.Twice()
	if err == nil && twice {
		err = errScattered
	}
	return err
}

// sorted sorts rows by the first appearance of their group. It finds the first
// row of each group by sorting keys, and then sorts the rows.
type sorted struct {
	emit func(context.Context, []*row) error
	o    *ImportOptions
	n    uint64
	keys *spill.Sorter // a group and a row, as it came
	rows *spill.List   // packed
	buf  []byte
}

// packed is what is held of a row.
type packed struct {
	importers.Item
	Own string
}

func unpack(b []byte) *row {
	var p packed
	spill.Decode(b, &p)
	return &row{Item: &p.Item, own: p.Own, size: len(b)}
}

func newSorted(o *ImportOptions, emit func(context.Context, []*row) error) *sorted {
	return &sorted{emit: emit, o: o, keys: spill.New(o.Spill.Dir, o.Spill.Memory/4),
		rows: spill.NewList(o.Spill.Dir, o.Spill.Memory/4)}
}

// close removes what was sorted, which is no longer needed.
func (s *sorted) close() {
	_ = s.keys.Close()
	_ = s.rows.Close()
}

func (s *sorted) add(_ context.Context, r *row) error {
	k := r.key()
	s.buf = numbers(s.buf[:0], k.hi, k.lo, s.n)
	s.n++
	if err := s.keys.Add(s.buf, nil); err != nil {
		return err
	}
	s.buf = spill.Append(s.buf[:0], &packed{*r.Item, r.own})
	return s.rows.Add(s.buf)
}

// numbers appends numbers, which sort as they are.
func numbers(b []byte, all ...uint64) []byte {
	for _, x := range all {
		b = binary.BigEndian.AppendUint64(b, x)
	}
	return b
}

func (s *sorted) end(ctx context.Context) error {
	first := spill.New(s.o.Spill.Dir, s.o.Spill.Memory/4)
	defer first.Close() // its content is no longer needed
	if err := s.firsts(first); err != nil {
		return err
	}
	byGroup := spill.New(s.o.Spill.Dir, s.o.Spill.Memory)
	defer byGroup.Close() // the same
	if err := s.addByGroup(first, byGroup); err != nil {
		return err
	}
	s.close()
	return s.groups(ctx, byGroup)
}

// firsts adds every row with the first row of its group.
func (s *sorted) firsts(to *spill.Sorter) error {
	var group [16]byte
	var first uint64
	begun := false
	for x, err := range s.keys.Sorted() {
		if err != nil {
			return err
		}
		n := binary.BigEndian.Uint64(x.Key[16:])
		if !begun || string(x.Key[:16]) != string(group[:]) {
			copy(group[:], x.Key)
			first, begun = n, true
		}
		s.buf = numbers(s.buf[:0], n, first)
		if err := to.Add(s.buf[:8], s.buf[8:]); err != nil {
			return err
		}
	}
	return nil
}

// addByGroup adds the rows by the first of their group, and then by their own place.
func (s *sorted) addByGroup(first, to *spill.Sorter) error {
	next, stop := iter.Pull2(first.Sorted())
	defer stop()
	for row, err := range s.rows.All() {
		x, bad, _ := next()
		if err == nil {
			err = bad
		}
		if err != nil {
			return err
		}
		s.buf = append(append(s.buf[:0], x.Value...), x.Key...)
		if err := to.Add(s.buf, row); err != nil {
			return err
		}
	}
	return nil
}

// groups passes the groups on.
func (s *sorted) groups(ctx context.Context, rows *spill.Sorter) error {
	var group []*row
	var of uint64
	pass := func() error {
		if len(group) == 0 {
			return nil
		}
		err := s.emit(ctx, group)
		group = nil
		return err
	}
	for x, err := range rows.Sorted() {
		if err != nil {
			return err
		}
		if first := binary.BigEndian.Uint64(x.Key); first != of {
			if err := pass(); err != nil {
				return err
			}
			of = first
		}
		group = append(group, unpack(x.Value))
	}
	return pass()
}
