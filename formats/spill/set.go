package spill

import (
	"bufio"
	"encoding/binary"
	"io"
	"slices"
)

// Set detects whether any number was added twice. It is for one goroutine.
type Set struct {
	limit int
	look  int // count at which to check for repeats next
	file  file
	list  []uint64
	twice bool
}

// NewSet returns a set that spills to dir ("": the system's) what exceeds
// about so many bytes of memory. It must be closed.
func NewSet(dir string, memory int64) *Set {
	return &Set{limit: int(max(memory/8, 1)), look: 64, file: file{dir: dir}}
}

// Add adds a number, and reports whether a repeated one is known: it checks now
// and then, ever less often, and when memory is full.
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

// Twice reports whether any number was added twice. Nothing can be added after it.
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

func (s *Set) merge() (twice bool, err error) {
	var last uint64
	begun := false
	begin := func(r *bufio.Reader) *numberRun { return &numberRun{from: r} }
	err = merge(s.file.readers(int64(s.limit)*4), begin, func(r *numberRun) bool {
		twice = begun && r.head == last
		last, begun = r.head, true
		return !twice
	})
	return twice, err
}

// numberRun is one sorted run of numbers being read.
type numberRun struct {
	from *bufio.Reader
	head uint64
	buf  [8]byte
}

func (r *numberRun) next() error {
	_, err := io.ReadFull(r.from, r.buf[:])
	r.head = binary.LittleEndian.Uint64(r.buf[:])
	return err
}

func (r *numberRun) before(o *numberRun) bool { return r.head < o.head }

// Close removes the file.
func (s *Set) Close() error {
	s.list = nil
	return s.file.Close()
}
