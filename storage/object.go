package storage

import (
	"context"
	"encoding/hex"

	"gocloud.dev/blob"
)

// Create makes an object that must not exist yet, completely or not at all, or
// returns ErrExist. Exactly one of any number of concurrent creators succeeds.
func (b *Bucket) Create(ctx context.Context, key string, data []byte) error {
	return b.put(ctx, key, data, (*Draft).Create)
}

// Write makes or replaces an object, completely or not at all.
func (b *Bucket) Write(ctx context.Context, key string, data []byte) error {
	return b.put(ctx, key, data, (*Draft).Replace)
}

// put ends a draft of the data.
func (b *Bucket) put(ctx context.Context, key string, data []byte, end func(*Draft, context.Context, string) error) error {
	if err := checkKey(key); err != nil {
		return b.fail("create", "", err)
	}
	d, err := b.Draft(ctx)
	if err != nil {
		return err
	}
	defer d.Discard()
	if _, err := d.Write(data); err != nil {
		return err
	}
	return end(d, ctx, key)
}

// Stat describes an object, or returns ErrNotExist.
func (b *Bucket) Stat(ctx context.Context, key string) (Object, error) {
	if err := b.begin(ctx, "stat", key); err != nil {
		return Object{}, err
	}
	a, err := b.attributes(ctx, key)
	if err != nil {
		return Object{}, b.fail("stat", key, err)
	}
	return Object{Key: key, Size: a.Size, ModTime: a.ModTime, Content: hex.EncodeToString(a.MD5)}, nil
}

func (b *Bucket) attributes(ctx context.Context, key string) (a *blob.Attributes, err error) {
	if b.disk != "" {
		f, _, err := b.file(key)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return nil, err
		}
		return &blob.Attributes{Size: info.Size(), ModTime: info.ModTime()}, nil
	}
	err = b.retry(ctx, func(ctx request) error {
		a, err = b.drv.Attributes(ctx, b.prefix+key)
		return err
	})
	return a, err
}

// Delete removes an object; a missing one is not an error. On a local disk it
// also removes the folders that become empty.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	if err := b.begin(ctx, "delete", key); err != nil {
		return err
	}
	var err error
	if b.disk != "" {
		err = b.remove(b.path(key))
	} else {
		err = b.retry(ctx, func(ctx request) error { return b.drv.Delete(ctx, b.prefix+key) })
	}
	if kindOf(err) == ErrNotExist {
		return nil
	}
	return b.fail("delete", key, err)
}
