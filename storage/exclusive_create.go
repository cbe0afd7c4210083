package storage

import (
	"context"
	"time"

	"github.com/google/uuid"
)

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
