package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// readLimit is the largest object that Read reads. Larger ones are read by ranges.
const readLimit = 64 << 20

// Read returns the whole object, or ErrNotExist. It is for small objects
// (manifests, records, ledgers): more than 64 MiB is an error.
func (b *Bucket) Read(ctx context.Context, key string) ([]byte, error) {
	return b.ReadLimited(ctx, key, readLimit)
}

// ReadLimited is Read for an object of at most limit bytes.
func (b *Bucket) ReadLimited(ctx context.Context, key string, limit int64) ([]byte, error) {
	if err := b.begin(ctx, "read", key); err != nil {
		return nil, err
	}
	var data []byte
	err := b.retry(ctx, func(ctx request) (err error) {
		data, err = b.readLimited(ctx, key, limit)
		return err
	})
	b.moved("read", key, 0, len(data))
	return data, b.fail("read", key, err)
}

// readLimited opens the object once: its size and its bytes are of one version,
// even if others replace it meanwhile. It checks the size before it allocates
// memory, and reads at most one byte more than limit.
func (b *Bucket) readLimited(ctx request, key string, limit int64) ([]byte, error) {
	r, size, err := b.whole(ctx, key)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if size > limit {
		return nil, tooLarge(size, limit)
	}
	ctx.moves(min(max(size, 0), limit))
	var data bytes.Buffer
	data.Grow(int(max(size, 0)) + bytes.MinRead)
	n, err := data.ReadFrom(io.LimitReader(r, limit+1))
	switch {
	case err != nil:
		return nil, err
	case n > limit:
		return nil, tooLarge(n, limit)
	case n < size:
		return nil, io.ErrUnexpectedEOF
	}
	return data.Bytes(), nil
}

// whole opens an object and returns its size: -1 if the store does not say it.
func (b *Bucket) whole(ctx context.Context, key string) (io.ReadCloser, int64, error) {
	if b.disk != "" {
		f, size, err := b.file(key)
		if err != nil {
			return nil, 0, err
		}
		return f, size, nil
	}
	r, err := b.drv.NewReader(ctx, b.prefix+key, nil)
	if err != nil {
		return nil, 0, err
	}
	return r, r.Size(), nil
}

// ErrTooLarge marks an object that is too large for Read.
var ErrTooLarge = errors.New("the object is too large to be read whole")

func tooLarge(size, limit int64) error {
	return fmt.Errorf("%w: it has %d bytes, and at most %d are read: another program wrote it", ErrTooLarge, size, limit)
}
