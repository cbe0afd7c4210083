package spill

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"slices"
)

// Set finds out whether any number was added twice. It is for one goroutine.
type Set struct {
	limit int
	look  int // numbers among which to look for the first one that came twice
	file  file
	list  []uint64
	twice bool
}

// NewSet returns a set that spills to dir ("": the system's) what exceeds
// about so many bytes of memory. It must be closed.
func NewSet(dir string, memory int64) *Set {
	return &Set{limit: int(max(memory/8, 1)), look: 64, file: file{dir: dir}}
}

// Add adds a number, and tells whether one is known to have come twice: it
// looks now and then, ever more seldom, and when memory is full.
func (s *Set) Add(n uint64) (twice bool, err error) {
	if len(s.list) == s.look {
		s.sort()
		s.look *= 4
	}
	if len(s.list) == s.limit {
		s.sort()
		if err := s.spill(); err != nil {
			return false, err
		}
	}
	s.list = append(s.list, n)
	return s.twice, nil
}

func (s *Set) sort() {
	slices.Sort(s.list)
	for i := 1; i < len(s.list) && !s.twice; i++ {
		s.twice = s.list[i] == s.list[i-1]
	}
}

func (s *Set) spill() error {
	err := s.file.append(func(w *bufio.Writer) error {
		var b [8]byte
		for _, n := range s.list {
			binary.LittleEndian.PutUint64(b[:], n)
			if _, err := w.Write(b[:]); err != nil {
				return err
			}
		}
		return nil
	})
	s.list = s.list[:0]
	return err
}

// Twice tells whether any number came twice. Nothing can be added after it.
func (s *Set) Twice() (bool, error) {
	s.sort()
	if s.twice || len(s.file.runs) == 0 {
		return s.twice, nil
	}
	if err := s.spill(); err != nil {
		return false, err
	}
	s.list = nil
	return s.merge()
}

// merge walks along all runs at once, the smallest number first.
func (s *Set) merge() (bool, error) {
	type run struct {
		from *bufio.Reader
		head uint64
	}
	next := func(r *run) error {
		var b [8]byte
		_, err := io.ReadFull(r.from, b[:])
		r.head = binary.LittleEndian.Uint64(b[:])
		return err
	}
	var runs []run
	for _, r := range s.file.readers(int64(s.limit) * 4) {
		runs = append(runs, run{from: r})
		if err := next(&runs[len(runs)-1]); err != nil {
			return false, err
		}
	}
	for len(runs) > 0 {
		least := 0
		for i := 1; i < len(runs); i++ {
			switch {
			case runs[i].head == runs[least].head:
				return true, nil
			case runs[i].head < runs[least].head:
				least = i
			}
		}
		if err := next(&runs[least]); errors.Is(err, io.EOF) {
			runs = slices.Delete(runs, least, least+1)
		} else if err != nil {
			return false, err
		}
	}
	return false, nil
}

// Close removes what was spilled.
func (s *Set) Close() error {
	s.list = nil
	return s.file.Close()
}
