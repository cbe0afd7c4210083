package arrow

import (
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// recycler is an allocator that hands freed memory out again: batches of like
// size follow one another, and fresh memory is cleared twice before it is
// used. What is handed out again is not clear: slots of nulls and padding hold
// what stood there before. It is for one goroutine.
type recycler struct {
	fresh memory.Allocator
	freed [maxRecycled + 1][][]byte // by the size's power of two
}

// maxRecycled is the power of two above which memory is let go.
const maxRecycled = 22

func newRecycler() *recycler { return &recycler{fresh: memory.NewGoAllocator()} }

func (r *recycler) Allocate(size int) []byte {
	power := bits.Len(uint(max(size, 64) - 1))
	if power > maxRecycled {
		return r.fresh.Allocate(size)
	}
	if n := len(r.freed[power]); n > 0 {
		b := r.freed[power][n-1]
		r.freed[power] = r.freed[power][:n-1]
		return b[:size]
	}
	return r.fresh.Allocate(1 << power)[:size]
}

func (r *recycler) Reallocate(size int, b []byte) []byte {
	if cap(b) >= size {
		return b[:size]
	}
	larger := r.Allocate(size)
	copy(larger, b)
	r.Free(b)
	return larger
}

func (r *recycler) Free(b []byte) {
	if power := bits.Len(uint(max(cap(b), 1) - 1)); power <= maxRecycled && cap(b) == 1<<power && cap(b) >= 64 {
		r.freed[power] = append(r.freed[power], b[:cap(b)])
	}
}
