package storage

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path"
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
// themselves (If-Match). In a store that cannot, a create-only claim is made
// for each content that is replaced: see swapByClaim.
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
	d, err := b.Draft(ctx)
	if err != nil {
		return err
	}
	defer d.Discard()
	if _, err := d.Write(data); err != nil {
		return err
	}
	return d.publishFile(key, false)
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
	return b.upload(ctx, key, data, &blob.WriterOptions{})
}

func (b *Bucket) upload(ctx context.Context, key string, data []byte, o *blob.WriterOptions) error {
	drv, err := b.driver()
	if err != nil {
		return err
	}
	o.ContentType, o.DisableContentTypeDetection = "application/octet-stream", true
	return b.retry(ctx, func(ctx request) error {
		ctx.moves(int64(len(data)))
		return drv.Upload(ctx, b.prefix+key, bytes.NewReader(data), o)
	})
}

// swapFar reads the object's version first and then its content: if the content
// is old, and the version is unchanged when the store writes, no other process
// has written in between.
func (b *Bucket) swapFar(ctx context.Context, key string, old, data []byte) error {
	conditional, err := b.comparesVersions(ctx)
	if err != nil {
		return err
	}
	if !conditional {
		return b.swapByClaim(ctx, key, old, data)
	}
	drv, err := b.driver()
	if err != nil {
		return err
	}
	var version *blob.Attributes
	err = b.retry(ctx, func(ctx request) error {
		version, err = drv.Attributes(ctx, b.prefix+key)
		return err
	})
	if kindOf(err) == ErrNotExist {
		return ErrChanged
	}
	if err == nil {
		err = b.holds(ctx, key, old)
	}
	if err != nil {
		return err
	}
	ctx, o := b.far.ifVersion(ctx, version)
	err = b.upload(ctx, key, data, o)
	if kind := kindOf(err); kind != ErrExist && kind != ErrNotExist {
		return err
	}
	// Refused because of another's version, or of our own whose response was
	// lost.
	return b.holds(ctx, key, data)
}

// comparesVersions reports whether the store refuses a write that names another
// version than the object's. A store of a third party is tested once.
func (b *Bucket) comparesVersions(ctx context.Context) (bool, error) {
	if b.far.exclusive {
		return true, nil
	}
	if exclusive, err := b.Exclusive(ctx); err != nil || !exclusive {
		return false, err
	}
	p := &b.far.versions
	p.Lock()
	defer p.Unlock()
	if p.done {
		return p.yes, nil
	}
	with, o := b.far.ifVersion(ctx, &blob.Attributes{ETag: `"00000000000000000000000000000000"`})
	err := b.upload(with, probeKey, nil, o)
	if err != nil && kindOf(err) == ErrTemporary || ctx.Err() != nil {
		return false, err
	}
	p.done, p.yes = true, err != nil && (kindOf(err) == ErrExist || kindOf(err) == ErrNotExist)
	return p.yes, nil
}

// swapByClaim swaps in a store that accepts every write as a replacement. The
// right to replace a content belongs to the creator of the single create-only
// claim for that content. The claim holds the replacement, so that any process
// may finish a swap that its owner began. A process that is suspended between
// its last check and its write may still undo a later swap: no method without
// conditional writes can prevent that.
func (b *Bucket) swapByClaim(ctx context.Context, key string, old, data []byte) error {
	if err := b.holds(ctx, key, old); err != nil {
		return err
	}
	sum := sha256.Sum256(old)
	claim := ".rollmill/swaps/" + path.Base(key) + "-" + hex.EncodeToString(sum[:16])
	err := b.Create(ctx, claim, data)
	if err != nil && !errors.Is(err, ErrExist) {
		return err
	}
	winner, err := b.Read(ctx, claim)
	if err != nil {
		return err
	}
	if err := b.holds(ctx, key, old); err == nil {
		err = b.upload(ctx, key, winner, &blob.WriterOptions{})
		if err != nil {
			return err
		}
	} else if !errors.Is(err, ErrChanged) {
		return err
	}
	return b.holds(ctx, key, data)
}
