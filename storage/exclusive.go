package storage

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/google/uuid"
	"gocloud.dev/blob"
)

// draftMark is the metadata under which an object of an object store names the
// draft that it was. Azure wants an identifier.
const draftMark = "rollmill_draft"

// upload sends the draft's bytes as the object.
func (d *Draft) upload(ctx context.Context, key string, createOnly bool, mark string) error {
	drv, err := d.b.driver()
	if err != nil {
		return err
	}
	o := &blob.WriterOptions{ContentType: "application/octet-stream", IfNotExist: createOnly, DisableContentTypeDetection: true}
	if mark != "" {
		o.Metadata = map[string]string{draftMark: mark}
	}
	size, err := d.file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	err = d.b.retry(ctx, func(ctx request) error {
		ctx.moves(size)
		if _, err := d.file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		return drv.Upload(ctx, d.b.prefix+key, d.file, o)
	})
	if d.b.far != nil && kindOf(err) == ErrNotExist {
		return errors.Join(ErrNoBucket, err) // what else is not there, when one writes
	}
	return err
}

// uploadNew sends the draft's bytes as an object that must not exist. A store
// may take them and lose its answer, and then refuse the repetition, so a
// refused draft looks whether the object is itself.
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

// owner is the mark of the draft that an object was.
func (d *Draft) owner(ctx context.Context, key string) (string, error) {
	drv, err := d.b.driver()
	if err != nil {
		return "", err
	}
	var a *blob.Attributes
	err = d.b.retry(ctx, func(ctx request) error {
		a, err = drv.Attributes(ctx, d.b.prefix+key)
		return err
	})
	if err != nil {
		return "", err
	}
	return a.Metadata[draftMark], nil
}

// settling is how long a creator waits for a rival where the store cannot
// refuse the later of two. Tests make it shorter.
var settling = 2 * time.Second

// uploadAndLook creates as well as can be done in a store that takes any write
// for a replacement: it looks, writes, waits, and looks whose the object is.
// Of racing creators at most one is told that it won, unless one's write takes
// longer than the other's wait.
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

// A probe asks a store once whether it creates exclusively.
type probe struct {
	sync.Mutex
	done bool
	yes  bool
}

// probeKey is the object that is created twice to see the second refused. It
// stays, so that the next process needs one request only.
const probeKey = ".rollmill/create-only"

// Exclusive reports whether Create is exact: whether the store refuses to
// write an object that exists. Local disks, S3, Google's and Azure's stores
// do; another that speaks S3's protocol is asked, by an object that stays.
// Where it is false, Create is the best that can be done without, and a ledger
// must not be kept.
func (b *Bucket) Exclusive(ctx context.Context) (bool, error) {
	if b.far == nil || b.far.exclusive {
		return true, nil
	}
	p := &b.far.probe
	p.Lock()
	defer p.Unlock()
	if p.done {
		return p.yes, nil
	}
	for range 2 {
		err := b.createProbe(ctx)
		if p.yes = kindOf(err) == ErrExist; p.yes {
			break
		}
		if err != nil {
			return false, b.fail("create", probeKey, err)
		}
	}
	p.done = true
	return p.yes, nil
}

func (b *Bucket) createProbe(ctx context.Context) error {
	d, err := b.Draft(ctx)
	if err != nil {
		return err
	}
	defer d.Discard()
	return d.upload(ctx, probeKey, true, "")
}
