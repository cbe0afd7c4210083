package storage

import (
	"context"
	"fmt"
	"io"
)

type rangeReader struct {
	ctx  context.Context
	b    *Bucket
	key  string
	size int64
}

func (r *rangeReader) Size() int64 { return r.size }

func (r *rangeReader) Close() error { return nil }

func (r *rangeReader) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, r.b.fail("range", r.key, fmt.Errorf("negative offset %d", off))
	}
	if err := r.b.begin(r.ctx, "range", r.key); err != nil {
		return 0, err
	}
	want := min(int64(len(p)), max(0, r.size-off))
	if want > 0 {
		var n int
		err := r.b.retry(r.ctx, func(ctx request) (err error) {
			ctx.moves(want)
			n, err = r.request(ctx, p[:want], off)
			return err
		})
		r.b.moved("range", r.key, off, n)
		if err != nil {
			return n, r.b.fail("range", r.key, err)
		}
	}
	if want < int64(len(p)) {
		return int(want), io.EOF // ReadAt's contract: not wrapped
	}
	return int(want), nil
}

// request fills p; an object that ends early was changed meanwhile.
func (r *rangeReader) request(ctx context.Context, p []byte, off int64) (int, error) {
	src, err := r.b.drv.NewRangeReader(ctx, r.b.prefix+r.key, off, int64(len(p)), nil)
	if err != nil {
		return 0, err
	}
	defer src.Close()
	if src.Size() != r.size {
		return 0, otherSize(src.Size(), r.size)
	}
	n, err := io.ReadFull(src, p)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
