package convert

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"

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

// sorted sorts rows by the first appearance of their group: by group and place, and then by the group's first place.
type sorted struct {
	emit func(context.Context, []*row) error
	o    *ImportOptions
	n    uint64
	rows *spill.Sorter // packed, by group and place
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
	return &sorted{emit: emit, o: o, rows: spill.New(o.Spill.Dir, o.Spill.Memory/2)}
}

func (s *sorted) close() { _ = s.rows.Close() } // its content is no longer needed

func (s *sorted) add(_ context.Context, r *row) error {
	k := r.key()
	const keyBytes = 24
	s.buf = spill.Append(numbers(s.buf[:0], k.hi, k.lo, s.n), &packed{*r.Item, r.own})
	s.n++
	return s.rows.Add(s.buf[:keyBytes], s.buf[keyBytes:])
}

// numbers appends numbers, which sort as they are.
func numbers(b []byte, all ...uint64) []byte {
	for _, x := range all {
		b = binary.BigEndian.AppendUint64(b, x)
	}
	return b
}

func (s *sorted) end(ctx context.Context) error {
	byGroup := spill.New(s.o.Spill.Dir, s.o.Spill.Memory/2)
	defer byGroup.Close() // its content is no longer needed
	if err := s.addByGroup(byGroup); err != nil {
		return err
	}
	s.close()
	return s.groups(ctx, byGroup)
}

// addByGroup adds the rows by the first of their group, and then by their own place.
func (s *sorted) addByGroup(to *spill.Sorter) error {
	var group, first []byte
	for x, err := range s.rows.Sorted() {
		if err != nil {
			return err
		}
		of, place := x.Key[:16], x.Key[16:]
		if first == nil || !bytes.Equal(of, group) {
			group, first = append(group[:0], of...), append(first[:0], place...)
		}
		s.buf = append(append(s.buf[:0], first...), place...)
		if err := to.Add(s.buf, x.Value); err != nil {
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
