package storage

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
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

// uploadNew sends the draft's bytes as an object that must not exist. A store
// may accept them, lose its response, and then refuse the repeated request, so
// a refused draft reads whether the object is the draft itself.
func (d *Draft) uploadNew(ctx context.Context, key string) error {
	if d.b.far == nil {
		return d.upload(ctx, key, true, "")
	}
	exclusive, err := d.b.Exclusive(ctx)
	if err != nil {
		return err
	}
	mark := uuid.NewString()
	if !exclusive {
		return d.uploadAndLook(ctx, key, mark)
	}
	err = d.upload(ctx, key, true, mark)
	if kindOf(err) != ErrExist {
		return err
	}
	if owner, look := d.owner(ctx, key); look == nil && owner == mark {
		return nil
	}
	return err
}

// settling is how long a creator waits for concurrent ones where the store
// cannot refuse the later of two. Tests shorten it.
var settling = 2 * time.Second

// uploadAndLook is the best exclusive creation for a store that accepts every
// write as a replacement: it checks that the object does not exist, writes,
// waits, and reads which draft the object is. Of concurrent creators at most
// one succeeds, unless the write of one takes longer than the wait of another.
func (d *Draft) uploadAndLook(ctx context.Context, key, mark string) error {
	if _, err := d.owner(ctx, key); kindOf(err) != ErrNotExist {
		if err == nil {
			err = ErrExist
		}
		return err
	}
	if err := d.upload(ctx, key, false, mark); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(settling):
	}
	owner, err := d.owner(ctx, key)
	if err == nil && owner != mark {
		err = ErrExist
	}
	return err
}
