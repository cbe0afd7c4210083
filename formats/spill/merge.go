package spill

import (
	"bufio"
	"container/heap"
	"errors"
	"io"
)

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
