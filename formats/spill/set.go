package spill

import (
	"bytes"
	"encoding/binary"
)

// Set detects whether any number was added twice. It is for one goroutine.
type Set struct {
	sorter *Sorter
	n      int
	look   int // count at which to check for repeats next
	twice  bool
}

// NewSet returns a set that spills to dir ("": the system's) what exceeds
// about so many bytes of memory. It must be closed.
func NewSet(dir string, memory int64) *Set { return &Set{sorter: New(dir, memory), look: 64} }

// Add adds a number, and reports whether a repeated one is known: it checks now
// and then, ever less often.
func (s *Set) Add(n uint64) (twice bool, err error) {
	if s.n == s.look {
		s.sorter.sort()
		list := s.sorter.list
		for i := 1; i < len(list) && !s.twice; i++ {
			s.twice = list[i].prefix == list[i-1].prefix
		}
		s.look *= 4
	}
	s.n++
	var key [8]byte
	binary.BigEndian.PutUint64(key[:], n)
	return s.twice, s.sorter.Add(key[:], nil)
}

// Twice reports whether any number was added twice. Nothing can be added after it.
func (s *Set) Twice() (bool, error) {
	var last []byte
	for r, err := range s.sorter.Sorted() {
		if s.twice = s.twice || bytes.Equal(last, r.Key); s.twice || err != nil {
			return s.twice, err
		}
		last = append(last[:0], r.Key...)
	}
	return s.twice, nil
}

// Close removes the file.
func (s *Set) Close() error { return s.sorter.Close() }
