package spill

import (
	"bufio"
	"container/heap"
	"encoding/binary"
	"errors"
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

// Twice reports whether any number was added twice. Nothing can be added after
// it.
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

// merge reads all runs at once, the smallest number first.
func (s *Set) merge() (bool, error) {
	var runs numbers
	for _, r := range s.file.readers(int64(s.limit) * 4) {
		run := &numberRun{from: r}
		if err := run.next(); err != nil {
			return false, err
		}
		runs = append(runs, run)
	}
	heap.Init(&runs)
	for last, begun := uint64(0), false; len(runs) > 0; begun = true {
		n := runs[0].head
		if begun && n == last {
			return true, nil
		}
		last = n
		switch err := runs[0].next(); {
		case errors.Is(err, io.EOF):
			heap.Pop(&runs)
		case err != nil:
			return false, err
		default:
			heap.Fix(&runs, 0)
		}
	}
	return false, nil
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

type numbers []*numberRun

func (m numbers) Len() int           { return len(m) }
func (m numbers) Less(i, j int) bool { return m[i].head < m[j].head }
func (m numbers) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }
func (m *numbers) Push(x any)        { *m = append(*m, x.(*numberRun)) }
func (m *numbers) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}

// Close removes the file.
func (s *Set) Close() error {
	s.list = nil
	return s.file.Close()
}
