package storage

import (
	"bytes"
	"context"
	"sync"

	"gocloud.dev/blob"
)

// Exclusive reports whether Create is exact: whether the store refuses to write
// an object that exists. Local disks, S3, Google's and Azure's stores do; any
// other store with S3's protocol is tested with an object that is kept. Where
// it is false, Create does the best that is possible without, and a ledger must
// not be kept there.
func (b *Bucket) Exclusive(ctx context.Context) (bool, error) {
	if b.far == nil || b.far.Exclusive {
		return true, nil
	}
	return b.far.creates.test(func() (bool, error) {
		for range 2 {
			err := b.put(ctx, probeKey, nil, func(d *Draft, ctx context.Context, key string) error {
				return d.upload(ctx, key, true, "")
			})
			if kindOf(err) == ErrExist {
				return true, nil
			}
			if err != nil {
				return false, b.fail("create", probeKey, err)
			}
		}
		return false, nil
	})
}

// probeKey is the object that is created twice to see whether the second
// creation is refused. It is kept, so that the next process needs only one
// request.
const probeKey = ".rollmill/create-only"

// Replaces returns an error that is ErrUnguarded if Swap cannot be exact here,
// because the store does not compare versions when it writes. A store of a third
// party is tested once, with an object that is kept. What would later replace an
// object asks first.
func (b *Bucket) Replaces(ctx context.Context) error {
	return b.fail("replace objects at", "", b.replaces(ctx))
}

func (b *Bucket) replaces(ctx context.Context) error {
	if b.far == nil || b.far.Exclusive {
		return nil
	}
	exclusive, err := b.Exclusive(ctx)
	switch {
	case err != nil:
		return err
	case !exclusive:
		return ErrUnguarded
	}
	compares, err := b.far.compares.test(func() (bool, error) {
		never := b.far.IfVersion(&blob.Attributes{ETag: `"00000000000000000000000000000000"`})
		err := b.upload(ctx, probeKey, bytes.NewReader(nil), never)
		if kindOf(err) == ErrExist || kindOf(err) == ErrNotExist {
			return true, nil
		}
		return false, err
	})
	if err == nil && !compares {
		err = ErrUnguarded
	}
	return err
}

// A probe tests once whether a store has a property.
type probe struct {
	mu   sync.Mutex
	done bool
	yes  bool
}

func (p *probe) test(f func() (bool, error)) (yes bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.done {
		p.yes, err = f()
		p.done = err == nil
	}
	return p.yes, err
}
