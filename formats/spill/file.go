// Package spill sorts data that exceeds memory: runs are sorted in memory,
// appended to a temporary file, and merged when they are read. It knows nothing
// about the data, which it compresses.
//
// A Sorter orders records by key. A List keeps them in the order of arrival. A
// Set reports whether a number was added twice, in half of a map's memory.
package spill

import (
	"bytes"
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/s2"
)

// file holds runs one after the other. It is unlinked once it is open, so that
// it disappears with the process, however that ends.
type file struct {
	dir  string
	f    *os.File
	size int64
	runs []span
}

// block is how many bytes are compressed together.
const block = 64 << 10

type span struct{ from, to int64 }

func (s *file) append(write func(io.Writer) error) error {
	if s.f == nil {
		f, err := os.CreateTemp(s.dir, "rollmill-spill-*")
		if err != nil {
			return fmt.Errorf("spill: %w", err)
		}
		s.f = f
		_ = os.Remove(f.Name()) // an open file needs no name, and nothing is left if the process dies
	}
	w := s2.NewWriter(s.f, s2.WriterBlockSize(block), s2.WriterConcurrency(1))
	err := write(w)
	err = cmp.Or(err, w.Close())
	from := s.size
	if err == nil {
		s.size, err = s.f.Seek(0, io.SeekCurrent)
	}
	if err != nil {
		return fmt.Errorf("spill: %w", err)
	}
	s.runs = append(s.runs, span{from, s.size})
	return nil
}

// reader reads a run, with two blocks of memory.
func (s *file) reader(r span) *s2.Reader {
	return s2.NewReader(io.NewSectionReader(s.f, r.from, r.to-r.from), s2.ReaderMaxBlockSize(block))
}

// Close removes the file.
func (s *file) Close() error {
	if s.f == nil {
		return nil
	}
	err := s.f.Close()
	s.f = nil
	return err
}

// runs are sorted runs that are being read; the first has the record that is next.
type runs []*run

// merge reads all runs at once.
func (m runs) merge(yield func(Record) bool) error {
	for _, r := range m {
		if err := r.next(); err != nil {
			return err
		}
	}
	heap.Init(&m)
	for len(m) > 0 && yield(m[0].Record) {
		switch err := m[0].next(); {
		case errors.Is(err, io.EOF):
			heap.Pop(&m)
		case err != nil:
			return err
		default:
			heap.Fix(&m, 0)
		}
	}
	return nil
}

func (m runs) Len() int           { return len(m) }
func (m runs) Less(i, j int) bool { return bytes.Compare(m[i].Key, m[j].Key) < 0 }
func (m runs) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }
func (m *runs) Push(x any)        { *m = append(*m, x.(*run)) }
func (m *runs) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}
