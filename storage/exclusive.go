package storage

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"
	"gocloud.dev/blob"
)

// draftMark is the metadata key under which an object of an object store names
// the draft that it was. Azure requires an identifier.
const draftMark = "rollmill_draft"

// upload sends the draft's bytes as the object.
func (d *Draft) upload(ctx context.Context, key string, createOnly bool, mark string) error {
	o := &blob.WriterOptions{IfNotExist: createOnly}
	if mark != "" {
		o.Metadata = map[string]string{draftMark: mark}
	}
	err := d.b.upload(ctx, key, d.file, o)
	if d.b.far != nil && kindOf(err) == ErrNotExist {
		return errors.Join(ErrNoBucket, err) // the only other thing that can be missing when one writes
	}
	return err
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

// owner returns the mark of the draft that an object was.
func (d *Draft) owner(ctx context.Context, key string) (string, error) {
	a, err := d.b.attributes(ctx, key)
	if err != nil {
		return "", err
	}
	return a.Metadata[draftMark], nil
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

// probeKey is the object that is created twice to see whether the second
// creation is refused. It is kept, so that the next process needs only one
// request.
const probeKey = ".rollmill/create-only"

// Exclusive reports whether Create is exact: whether the store refuses to write
// an object that exists. Local disks, S3, Google's and Azure's stores do; any
// other store with S3's protocol is tested with an object that is kept. Where
// it is false, Create does the best that is possible without, and a ledger must
// not be kept there.
func (b *Bucket) Exclusive(ctx context.Context) (bool, error) {
	if b.far == nil || b.far.exclusive {
		return true, nil
	}
	return b.far.probe.test(func() (bool, error) {
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
