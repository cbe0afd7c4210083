package storage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
)

// Reader reads ranges of one object. It is safe for concurrent use.
type Reader interface {
	io.ReaderAt
	io.Closer
	Size() int64 // bytes
}

// Open returns a reader of ranges of an object, or ErrNotExist. Each ReadAt is
// one request to an object store; opening costs only a Stat. ctx is used as
// long as the reader is.
func (b *Bucket) Open(ctx context.Context, key string) (Reader, error) {
	if b.disk == "" {
		o, err := b.Stat(ctx, key)
		if err != nil {
			return nil, err
		}
		return &rangeReader{ctx: ctx, b: b, key: key, size: o.Size}, nil
	}
	if err := b.begin(ctx, "open", key); err != nil {
		return nil, err
	}
	f, size, err := b.file(key)
	if err != nil {
		return nil, b.fail("open", key, err)
	}
	return &fileReader{ctx: ctx, f: f, size: size, b: b, key: key}, nil
}

// OpenSized is Open for an object whose size is known, for example from a
// manifest, so that the store is not asked for it. Reading an object of another
// size fails.
func (b *Bucket) OpenSized(ctx context.Context, key string, size int64) (Reader, error) {
	if b.far == nil {
		r, err := b.Open(ctx, key)
		if err == nil && r.Size() != size {
			r.Close()
			err = b.fail("open", key, otherSize(r.Size(), size))
		}
		if err != nil {
			return nil, err
		}
		return r, nil
	}
	if err := b.begin(ctx, "open", key); err != nil {
		return nil, err
	}
	return &rangeReader{ctx: ctx, b: b, key: key, size: size}, nil
}

// otherSize reports that an object has another size than expected.
func otherSize(size, expected int64) error {
	return fmt.Errorf("the object has %d bytes, and %d were expected: it was changed", size, expected)
}

type fileReader struct {
	ctx  context.Context
	f    *os.File
	size int64
	b    *Bucket
	key  string
}

func (r *fileReader) Size() int64 { return r.size }

func (r *fileReader) Close() error { return r.f.Close() }

func (r *fileReader) ReadAt(p []byte, off int64) (int, error) {
	if err := r.b.begin(r.ctx, "range", r.key); err != nil {
		return 0, err
	}
	n, err := r.f.ReadAt(p, off)
	r.b.moved("range", r.key, off, n)
	if err == io.EOF {
		return n, io.EOF // ReadAt's contract: not wrapped
	}
	return n, r.b.fail("range", r.key, bare(err))
}

// OpenFile opens one object for random access and returns its digest.
func OpenFile(ctx context.Context, uri string) (Reader, string, error) {
	dir, name := Split(uri)
	bucket, err := Open(ctx, dir)
	if err != nil {
		return nil, "", err
	}
	file, err := bucket.Open(ctx, name)
	if err != nil {
		return nil, "", err
	}
	sum := sha256.New()
	if _, err := io.CopyBuffer(sum, io.NewSectionReader(file, 0, file.Size()), make([]byte, 1<<20)); err != nil {
		return nil, "", errors.Join(err, file.Close())
	}
	return file, hex.EncodeToString(sum.Sum(nil)), nil
}
