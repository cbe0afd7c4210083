package storage

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Reader reads ranges of one object. It is safe for concurrent use.
type Reader interface {
	io.ReaderAt
	io.Closer
	Size() int64 // bytes
}

// Open returns a reader of ranges of an object, or ErrNotExist. Each ReadAt
// is one request to an object store, and costs nothing to open beyond a Stat.
func (b *Bucket) Open(ctx context.Context, key string) (Reader, error) {
	if b.disk != "" {
		if err := b.hook("open", key); err != nil {
			return nil, err
		}
		f, err := os.Open(filepath.Join(b.disk, filepath.FromSlash(key)))
		if os.IsNotExist(err) {
			err = fmt.Errorf("%w: %w", ErrNotExist, err)
		}
		if err != nil {
			return nil, b.fail("open", key, err)
		}
		info, err := f.Stat()
		if err != nil {
			f.Close()
			return nil, b.fail("open", key, err)
		}
		return &fileReader{File: f, size: info.Size(), b: b, key: key}, nil
	}
	o, err := b.Stat(ctx, key)
	if err != nil {
		return nil, err
	}
	return &rangeReader{ctx: ctx, b: b, key: key, size: o.Size}, nil
}

type fileReader struct {
	*os.File
	size int64
	b    *Bucket
	key  string
}

func (r *fileReader) Size() int64 { return r.size }

func (r *fileReader) ReadAt(p []byte, off int64) (int, error) {
	if err := r.b.hook("range", r.key); err != nil {
		return 0, err
	}
	return r.File.ReadAt(p, off)
}

type rangeReader struct {
	ctx  context.Context
	b    *Bucket
	key  string
	size int64
}

func (r *rangeReader) Size() int64  { return r.size }
func (r *rangeReader) Close() error { return nil }

func (r *rangeReader) ReadAt(p []byte, off int64) (int, error) {
	if off >= r.size {
		return 0, io.EOF
	}
	if err := r.b.hook("range", r.key); err != nil {
		return 0, err
	}
	drv, err := r.b.driver()
	if err != nil {
		return 0, r.b.fail("range", r.key, err)
	}
	src, err := drv.NewRangeReader(r.ctx, r.b.prefix+r.key, off, int64(len(p)), nil)
	if err != nil {
		return 0, r.b.fail("range", r.key, err)
	}
	defer src.Close()
	n, err := io.ReadFull(src, p)
	if err == io.ErrUnexpectedEOF {
		err = io.EOF
	}
	return n, r.b.fail("range", r.key, err)
}
