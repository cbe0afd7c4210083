package arrow

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// batches reads a stream of record batches that another program wrote.
type batches struct {
	src *bufio.Reader
	r   *ipc.Reader
}

// next calls use with the next batch, or returns io.EOF after the last.
func (b *batches) next(use func(arrow.RecordBatch) error) (err error) {
	defer func() {
		if p := recover(); p != nil { // of the allocator, or of arrow-go on damaged rows
			err = fmt.Errorf("not a stream of Arrow record batches: %v", p)
		}
	}()
	if b.r == nil {
		r, err := ipc.NewReader(&framed{src: b.src}, ipc.WithAllocator(&limited{Allocator: memory.NewGoAllocator()}))
		if err != nil {
			return fmt.Errorf("not a stream of Arrow record batches: %w", err)
		}
		b.r = r
	}
	if !b.r.Next() {
		if err := b.r.Err(); err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("not a stream of Arrow record batches: %w", err)
		}
		return io.EOF
	}
	return use(b.r.RecordBatch())
}
