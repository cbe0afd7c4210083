package storage

import (
	"context"
	"fmt"
	"io"
)

// ReadAtMost is Read of an object that may have at most limit bytes. A larger
// one is an error before any of it is read.
func (b *Bucket) ReadAtMost(ctx context.Context, key string, limit int64) ([]byte, error) {
	if err := b.begin(ctx, "read", key); err != nil {
		return nil, err
	}
	drv, err := b.reading(key)
	if err != nil {
		return nil, b.fail("read", key, err)
	}
	var data []byte
	err = b.retry(ctx, func() error {
		r, err := drv.NewReader(ctx, b.prefix+key, nil)
		if err != nil {
			return err
		}
		defer r.Close()
		if r.Size() > limit {
			return fmt.Errorf("it has %d bytes, and such an object has at most %d", r.Size(), limit)
		}
		data, err = io.ReadAll(io.LimitReader(r, limit+1))
		if err == nil && int64(len(data)) > limit {
			err = fmt.Errorf("it has more than %d bytes", limit)
		}
		return err
	})
	b.moved("read", key, len(data))
	return data, b.fail("read", key, err)
}
