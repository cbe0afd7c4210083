package shards

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/rollmill/rollmill/storage"
)

// LeaseObject is one small object by which writers of the same shard agree which one
// writes. It does not decide rows: whichever writes, the first record wins.
// Sealing the dataset removes it.
type LeaseObject struct {
	bucket *storage.Bucket
	key    string
}

// Lease returns the object by which the shard's writers agree.
func (s *Shard) Lease() LeaseObject {
	return LeaseObject{s.bucket, fmt.Sprintf("%slease-%d.json", s.build.Home(), s.shard)}
}

// Read returns the content of the object, nil when there is none.
func (l LeaseObject) Read(ctx context.Context) ([]byte, error) {
	data, err := l.bucket.ReadLimited(ctx, l.key, 1<<20)
	if errors.Is(err, storage.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// replace is Swap where the store cannot compare: of two writers that replace
// the same content at once both may succeed. The first of them sees the other's
// content when it swaps again.
func (l LeaseObject) replace(ctx context.Context, old, next []byte) (bool, error) {
	now, err := l.Read(ctx)
	if err != nil || !bytes.Equal(now, old) {
		return false, err
	}
	return true, l.bucket.Write(ctx, l.key, next)
}

// Swap replaces old, the exact content, by next, and reports whether it did; nil is no object.
func (l LeaseObject) Swap(ctx context.Context, old, next []byte) (bool, error) {
	var err error
	switch {
	case old == nil:
		if err = l.bucket.Create(ctx, l.key, next); errors.Is(err, storage.ErrExist) {
			now, err := l.Read(ctx) // it may be ours, and the response was lost
			return bytes.Equal(now, next), err
		}
	case next == nil:
		now, err := l.Read(ctx)
		if err != nil || !bytes.Equal(now, old) {
			return false, err
		}
		return true, l.bucket.Delete(ctx, l.key)
	default:
		if err = l.bucket.Swap(ctx, l.key, old, next); errors.Is(err, storage.ErrChanged) {
			return false, nil
		}
		if errors.Is(err, storage.ErrUnguarded) {
			return l.replace(ctx, old, next)
		}
	}
	return err == nil, err
}
