package lease

import (
	"bytes"
	"context"
	"errors"

	"github.com/rollmill/rollmill/storage"
)

// Object is a Place: one small object by which processes agree which of them works. It
// decides nothing else: of two that work all the same, what they create first counts.
type Object struct {
	Bucket *storage.Bucket
	Key    string
}

// Read returns the content of the object, nil when there is none.
func (l Object) Read(ctx context.Context) ([]byte, error) {
	data, err := l.Bucket.ReadLimited(ctx, l.Key, 1<<20)
	if errors.Is(err, storage.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// replace is Swap where the store cannot compare: of two writers that replace
// the same content at once both may succeed. The first of them sees the other's
// content when it swaps again.
func (l Object) replace(ctx context.Context, old, next []byte) (bool, error) {
	now, err := l.Read(ctx)
	if err != nil || !bytes.Equal(now, old) {
		return false, err
	}
	return true, l.Bucket.Write(ctx, l.Key, next)
}

// Swap replaces old, the exact content, by next, and reports whether it did; nil is no object.
func (l Object) Swap(ctx context.Context, old, next []byte) (bool, error) {
	var err error
	switch {
	case old == nil:
		if err = l.Bucket.Create(ctx, l.Key, next); errors.Is(err, storage.ErrExist) {
			now, err := l.Read(ctx) // it may be ours, and the response was lost
			return bytes.Equal(now, next), err
		}
	case next == nil:
		now, err := l.Read(ctx)
		if err != nil || !bytes.Equal(now, old) {
			return false, err
		}
		return true, l.Bucket.Delete(ctx, l.Key)
	default:
		if err = l.Bucket.Swap(ctx, l.Key, old, next); errors.Is(err, storage.ErrChanged) {
			return false, nil
		}
		if errors.Is(err, storage.ErrUnguarded) {
			return l.replace(ctx, old, next)
		}
	}
	return err == nil, err
}
