package convert

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/spill"
)

// errScattered is the end of an import whose groups are not adjacent, or too large to be held; it begins
// again with a sorter.
var errScattered = errors.New("the rows of a group are not adjacent, or too many")

// A group of more bytes is sorted, and written in pieces of at least pieceBytes, which take ten times as much memory.
const (
	adjacentBytes = 32 << 20
	pieceBytes    = 8 << 20
)

// emit passes rows of a group on: see writer.group.
type emit func(ctx context.Context, group []*row, final, last bool) error

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
	emit  emit
	o     *ImportOptions
	group []*row
	size  int
	kept  []uint64
	begun *spill.Set
}

// setMemory is the memory for finding groups that begin twice before it spills: a
// quarter of a million of them.
const setMemory = 8 << 20

func newAdjacent(o *ImportOptions, emit emit) *adjacent {
	return &adjacent{emit: emit, o: o, begun: spill.NewSet(o.Spill.Dir, min(setMemory, o.Spill.Memory))}
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
	a.group, a.kept = append(a.group, r), append(a.kept, a.o.kept(r))
	if a.size += r.size; a.size > adjacentBytes && len(a.group) > 1 {
		return errScattered
	}
	return nil
}

// order returns a number by which the rows of a group are sorted: that of the attempt.
func (r *row) order() uint64 {
	if r.Attempt == nil {
		return 0
	}
	return uint64(*r.Attempt) + 1<<63
}

// pass passes the group on.
func (a *adjacent) pass(ctx context.Context) error {
	slices.SortStableFunc(a.group, func(x, y *row) int { return cmp.Compare(x.order(), y.order()) })
	err := a.emit(ctx, a.group, final(a.kept), true)
	clear(a.group)
	a.group, a.kept, a.size = a.group[:0], a.kept[:0], 0
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
	emit emit
	o    *ImportOptions
	n    uint64
	rows *spill.Sorter // packed, by group and place; the key goes on with the row's order and what it keeps
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

func newSorted(o *ImportOptions, emit emit) *sorted {
	return &sorted{emit: emit, o: o, rows: spill.New(o.Spill.Dir, o.Spill.Memory/2)}
}

func (s *sorted) close() { _ = s.rows.Close() } // its content is no longer needed

func (s *sorted) add(_ context.Context, r *row) error {
	k := r.key()
	const keyBytes = 40
	s.buf = spill.Append(spill.Key(s.buf[:0], k.hi, k.lo, s.n, r.order(), s.o.kept(r)), &packed{*r.Item, r.own})
	s.n++
	return s.rows.Add(s.buf[:keyBytes], s.buf[keyBytes:])
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

// addByGroup adds the rows by the first of their group, their order, and then their own place. A group that keeps its
// ids begins with a key of its first row alone.
func (s *sorted) addByGroup(to *spill.Sorter) error {
	var group, first []byte
	var kept []uint64
	end := func() error {
		if len(kept) == 0 || !final(kept) {
			return nil
		}
		return to.Add(first, nil)
	}
	for x, err := range s.rows.Sorted() {
		if err != nil {
			return err
		}
		of, place, order := x.Key[:16], x.Key[16:24], x.Key[24:32]
		if !bytes.Equal(of, group) {
			if err := end(); err != nil {
				return err
			}
			group, first, kept = append(group[:0], of...), append(first[:0], place...), kept[:0]
		}
		kept = append(kept, binary.BigEndian.Uint64(x.Key[32:]))
		s.buf = append(append(append(s.buf[:0], first...), order...), place...)
		if err := to.Add(s.buf, x.Value); err != nil {
			return err
		}
	}
	return end()
}

// groups passes the groups on, large ones in pieces. A pair stays together.
func (s *sorted) groups(ctx context.Context, rows *spill.Sorter) error {
	var group []*row
	var of uint64
	size, final := 0, false
	pass := func(last bool) (err error) {
		if len(group) > 0 {
			err = s.emit(ctx, group, final, last)
		}
		group, size = nil, 0
		return err
	}
	for x, err := range rows.Sorted() {
		if err != nil {
			return err
		}
		first := binary.BigEndian.Uint64(x.Key) != of
		if first || size >= pieceBytes && group[len(group)-1].Pair != importers.Chosen {
			if err := pass(first); err != nil {
				return err
			}
		}
		if of = binary.BigEndian.Uint64(x.Key); len(x.Key) == 8 {
			final = true
			continue
		}
		final = final && !first
		group, size = append(group, unpack(x.Value)), size+len(x.Value)
	}
	return pass(true)
}
