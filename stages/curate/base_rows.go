package curate

import (
	"context"
	"errors"
	"io"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/storage/fault"
)

// baseRows reads runs of rows of the base, in ascending order.
type baseRows struct {
	ctx  context.Context
	base *dataset.Dataset
	head bool  // without the payload
	end  int64 // of the slice
	next int64
	done int64 // rows before this one are not used any more
	r    *dataset.Reader[formats.Trajectory]
}

// seekGap is the gap from which a new reader pays: it skips whole row groups,
// while rows in between would be decoded.
const seekGap = 4096

// memberColumns are the columns that every kept row gets from its member.
var memberColumns = []string{"reward", "rewards", "shaped_rewards", "group_id", "advantage"}

func (s *baseRows) read(first int64, rows []formats.Trajectory) error {
	if s.r == nil || first-s.next > seekGap {
		s.close()
		r, err := s.open(dataset.Range{First: first, Rows: s.end - first})
		if err != nil {
			return err
		}
		s.r, s.next = r, first
	}
	s.r.Done(s.done, true)
	if s.next < first {
		if err := s.r.Skip(first - s.next); err != nil {
			return err
		}
		s.next = first
	}
	return s.fill(rows)
}

func (s *baseRows) open(r dataset.Range) (*dataset.Reader[formats.Trajectory], error) {
	if s.head {
		return dataset.NewHeadReader[formats.Trajectory](s.ctx, s.base, r, memberColumns...)
	}
	return dataset.NewReader[formats.Trajectory](s.ctx, s.base, "", r)
}

func (s *baseRows) fill(rows []formats.Trajectory) error {
	n, err := s.r.Read(rows)
	s.next += int64(n)
	if n == len(rows) {
		return nil
	}
	if err = notEOF(err); err == nil {
		err = fault.Invalid(s.base.URI(), "", nil, "it ends at row %d", s.next)
	}
	return err
}

func (s *baseRows) close() {
	if s.r != nil {
		_ = s.r.Close() // it was only read
		s.r = nil
	}
}

// sized returns a slice of n elements, in the old one's memory if that is enough.
func sized[T any](old []T, n int) []T {
	if cap(old) < n {
		return make([]T, n)
	}
	return old[:n]
}

func notEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

const (
	readNone rowsRead = iota
	readHeads
	readWhole
)

// rowsRead says which of a group's rows were read.
type rowsRead int

// decided is a group on its way between the two goroutines.
type decided struct {
	group    Group
	verdict  Verdict // about it
	members  []formats.Member
	verdicts []Verdict
	rows     []formats.Trajectory // of the whole group, when anything is kept
	read     rowsRead             // what is in rows
	ended    string               // the rule that left nothing of the group, or ""
	kept     []formats.Trajectory // at the beginning of rows
	at       []int64              // their rows in the base, if their payload is copied
}
