package storage

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"sync"

	"gocloud.dev/blob"
)

// Swap replaces an object whose content is exactly old, completely or not at
// all. When it has any other content, or is gone, nothing changes and the error
// is ErrChanged. Exactly one of concurrent swaps of one content succeeds.
//
// On a local disk the comparison and the rename are made under a lock of the
// object's folder, which ends with its process. Object stores compare versions
// themselves (If-Match). In one that cannot, the error is ErrUnguarded and
// nothing is written: see Replaces.
func (b *Bucket) Swap(ctx context.Context, key string, old, data []byte) error {
	if err := b.begin(ctx, "publish", key); err != nil {
		return err
	}
	var err error
	switch {
	case b.disk != "":
		err = b.swapFile(ctx, key, old, data)
	case b.far == nil:
		err = b.swapInMemory(ctx, key, old, data)
	default:
		err = b.swapFar(ctx, key, old, data)
	}
	if err != nil {
		return b.fail("replace", key, err)
	}
	return b.hook("published", key)
}

func (b *Bucket) swapFile(ctx context.Context, key string, old, data []byte) error {
	unlock, err := lockFolder(ctx, filepath.Dir(b.path(key)))
	if err != nil {
		return err
	}
	defer unlock()
	if err := b.holds(ctx, key, old); err != nil {
		return err
	}
	return b.put(ctx, key, data, func(d *Draft, _ context.Context, key string) error { return d.publishFile(key, false) })
}

// holds returns ErrChanged unless the object has exactly this content.
func (b *Bucket) holds(ctx context.Context, key string, want []byte) error {
	is, err := b.Read(ctx, key)
	if errors.Is(err, ErrNotExist) || err == nil && !bytes.Equal(is, want) {
		return ErrChanged
	}
	return err
}

// memory is locked while an object in process memory is compared and written.
var memory sync.Mutex

func (b *Bucket) swapInMemory(ctx context.Context, key string, old, data []byte) error {
	memory.Lock()
	defer memory.Unlock()
	if err := b.holds(ctx, key, old); err != nil {
		return err
	}
	return b.upload(ctx, key, bytes.NewReader(data), &blob.WriterOptions{})
}

// swapFar reads the object's version first and then its content: if the content
// is old, and the version is unchanged when the store writes, no other process
// has written in between.
func (b *Bucket) swapFar(ctx context.Context, key string, old, data []byte) error {
	if err := b.replaces(ctx); err != nil {
		return err
	}
	version, err := b.attributes(ctx, key)
	if kindOf(err) == ErrNotExist {
		return ErrChanged
	}
	if err == nil {
		err = b.holds(ctx, key, old)
	}
	if err != nil {
		return err
	}
	err = b.upload(ctx, key, bytes.NewReader(data), b.far.IfVersion(version))
	if kind := kindOf(err); kind != ErrExist && kind != ErrNotExist {
		return err
	}
	// Refused because of another's version, or of our own whose response was lost.
	return b.holds(ctx, key, data)
}
