package convert

import (
	"context"
	"encoding/binary"
	"iter"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/spill"
)

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
