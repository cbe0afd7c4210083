package arrow

import (
	"fmt"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// limited is an allocator that panics when more than maxMemory is allocated, so
// that a batch that claims too much memory causes an error instead of ending
// the process. AnswerReader recovers the panic.
type limited struct {
	memory.Allocator
	used atomic.Int64
}

const maxMemory = 1 << 30

func (l *limited) Allocate(size int) []byte {
	l.take(size)
	return l.Allocator.Allocate(size)
}

func (l *limited) Reallocate(size int, b []byte) []byte {
	l.take(size - cap(b))
	return l.Allocator.Reallocate(size, b)
}

func (l *limited) Free(b []byte) {
	l.used.Add(-int64(cap(b)))
	l.Allocator.Free(b)
}

func (l *limited) take(size int) {
	if l.used.Add(int64(size)) > maxMemory {
		panic(fmt.Sprintf("the rows at hand need more than %d MiB of memory", maxMemory>>20))
	}
}
