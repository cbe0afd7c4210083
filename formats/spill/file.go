// Package spill sorts data that exceeds memory: runs are sorted in memory,
// appended to a temporary file, and merged when they are read. It knows nothing
// about the data.
//
// A Sorter orders records by key. A List keeps them in the order of arrival. A
// Set reports whether a number was added twice, in an eighth of a map's memory.
package spill

import (
	"bufio"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"os"
)

// file holds runs one after the other. It is unlinked once it is open, so that
// it disappears with the process, however that ends.
type file struct {
	dir  string
	f    *os.File
	size int64
	runs []span
}

type span struct{ from, to int64 }

func (s *file) append(write func(*bufio.Writer) error) error {
	if s.f == nil {
		f, err := os.CreateTemp(s.dir, "rollmill-spill-*")
		if err != nil {
			return fmt.Errorf("spill: %w", err)
		}
		s.f = f
		_ = os.Remove(f.Name()) // an open file needs no name, and nothing is left if the process dies
	}
	w := bufio.NewWriterSize(s.f, 1<<20)
	err := write(w)
	if err == nil {
		err = w.Flush()
	}
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

// readers reads each run through a buffer; together the buffers take about this much memory.
func (s *file) readers(memory int64) []*bufio.Reader {
	each := min(max(memory/int64(max(1, len(s.runs))), 4<<10), 1<<20)
	out := make([]*bufio.Reader, len(s.runs))
	for i, r := range s.runs {
		out[i] = bufio.NewReaderSize(io.NewSectionReader(s.f, r.from, r.to-r.from), int(each))
	}
	return out
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

// sorted is a run that is being read.
type sorted[R any] interface {
	next() error // goes on; io.EOF after the last record
	before(R) bool
}

// merge reads all runs at once, and yields the one whose record is next.
func merge[R sorted[R]](from []*bufio.Reader, begin func(*bufio.Reader) R, yield func(R) bool) error {
	var open runs[R]
	for _, r := range from {
		run := begin(r)
		if err := run.next(); err != nil {
			return err
		}
		open = append(open, run)
	}
	heap.Init(&open)
	for len(open) > 0 && yield(open[0]) {
		switch err := open[0].next(); {
		case errors.Is(err, io.EOF):
			heap.Pop(&open)
		case err != nil:
			return err
		default:
			heap.Fix(&open, 0)
		}
	}
	return nil
}

type runs[R sorted[R]] []R

func (m runs[R]) Len() int           { return len(m) }
func (m runs[R]) Less(i, j int) bool { return m[i].before(m[j]) }
func (m runs[R]) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }
func (m *runs[R]) Push(x any)        { *m = append(*m, x.(R)) }
func (m *runs[R]) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}
