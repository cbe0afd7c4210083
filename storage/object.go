package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"gocloud.dev/blob"

	"github.com/rollmill/rollmill/storage/regular"
)

// readLimit is the largest object that Read reads. Larger ones are read by
// ranges.
const readLimit = 64 << 20

// Read returns the whole object, or ErrNotExist. It is for small objects
// (manifests, records, ledgers): more than 64 MiB is an error.
func (b *Bucket) Read(ctx context.Context, key string) ([]byte, error) {
	return b.ReadLimited(ctx, key, readLimit)
}

// ReadLimited is Read for an object of at most limit bytes.
func (b *Bucket) ReadLimited(ctx context.Context, key string, limit int64) ([]byte, error) {
	if err := b.begin(ctx, "read", key); err != nil {
		return nil, err
	}
	var data []byte
	err := b.retry(ctx, func(ctx request) (err error) {
		data, err = b.readLimited(ctx, key, limit)
		return err
	})
	b.moved("read", key, 0, len(data))
	return data, b.fail("read", key, err)
}

// readLimited opens the object once: its size and its bytes are of one version,
// even if others replace it meanwhile. It checks the size before it allocates
// memory, and reads at most one byte more than limit.
func (b *Bucket) readLimited(ctx request, key string, limit int64) ([]byte, error) {
	r, size, err := b.whole(ctx, key)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if size > limit {
		return nil, tooLarge(size, limit)
	}
	ctx.moves(min(max(size, 0), limit))
	var data bytes.Buffer
	data.Grow(int(max(size, 0)) + bytes.MinRead)
	n, err := data.ReadFrom(io.LimitReader(r, limit+1))
	switch {
	case err != nil:
		return nil, err
	case n > limit:
		return nil, tooLarge(n, limit)
	case n < size:
		return nil, io.ErrUnexpectedEOF
	}
	return data.Bytes(), nil
}

// whole opens an object and returns its size: -1 if the store does not say it.
func (b *Bucket) whole(ctx context.Context, key string) (io.ReadCloser, int64, error) {
	if b.disk != "" {
		f, size, err := b.file(key)
		if err != nil {
			return nil, 0, err
		}
		return f, size, nil
	}
	r, err := b.drv.NewReader(ctx, b.prefix+key, nil)
	if err != nil {
		return nil, 0, err
	}
	return r, r.Size(), nil
}

// file opens an object on a local disk and returns its size. A folder is not an
// object.
func (b *Bucket) file(key string) (*os.File, int64, error) {
	if info, err := os.Stat(b.path(key)); err == nil && info.IsDir() {
		return nil, 0, ErrNotExist
	}
	var f *os.File
	var err error
	if b.confined {
		f, err = regular.OpenIn(b.disk, filepath.FromSlash(key))
	} else {
		f, err = regular.Open(b.path(key))
	}
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// ErrTooLarge marks an object that is too large for Read.
var ErrTooLarge = errors.New("the object is too large to be read whole")

func tooLarge(size, limit int64) error {
	return fmt.Errorf("%w: it has %d bytes, and at most %d are read: another program wrote it", ErrTooLarge, size, limit)
}

// path returns where a local bucket stores an object. checkKey has checked the
// key.
func (b *Bucket) path(key string) string {
	return filepath.Join(b.disk, filepath.FromSlash(key))
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
	return Object{Key: key, Size: a.Size, ModTime: a.ModTime}, nil
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

// List yields every object whose key begins with prefix, in key order. Objects
// that are created or deleted meanwhile may or may not be included.
func (b *Bucket) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return b.list(ctx, prefix, "", func(yield func(Object, error) bool) error {
		w := walker{ctx: ctx, prefix: prefix, yield: yield}
		return w.walk(b.disk, "")
	})
}

// list yields what local does on a local disk, and what an object store lists
// below a prefix, up to the delimiter.
func (b *Bucket) list(ctx context.Context, prefix, delimiter string,
	local func(yield func(Object, error) bool) error) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		err := ctx.Err()
		if err == nil {
			err = b.hook("list", prefix)
		}
		switch {
		case err != nil:
		case b.disk != "":
			err = b.fail("list", prefix, local(yield))
		default:
			o := blob.ListOptions{Prefix: b.prefix + prefix, Delimiter: delimiter}
			err = b.fail("list", prefix, b.pages(ctx, o, yield))
		}
		if err != nil {
			yield(Object{}, err)
		}
	}
}

// pages yields what an object store lists, page by page.
func (b *Bucket) pages(ctx context.Context, o blob.ListOptions, yield func(Object, error) bool) error {
	for token := blob.FirstPageToken; token != nil; {
		var page []*blob.ListObject
		err := b.retry(ctx, func(ctx request) (err error) {
			var next []byte
			if page, next, err = b.drv.ListPage(ctx, token, PageSize, &o); err == nil {
				token = next
			}
			return err
		})
		if err != nil {
			return err
		}
		for _, o := range page {
			key := strings.TrimPrefix(o.Key, b.prefix)
			if checkKey(strings.TrimSuffix(key, "/")) != nil || !o.IsDir && strings.HasSuffix(key, "/") {
				continue // not written by rollmill: such a key cannot be read
			}
			if !yield(Object{Key: key, Size: o.Size, ModTime: o.ModTime}, nil) {
				return nil
			}
		}
	}
	return nil
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

// remove removes a file, and the folders that become empty. A folder is not an object.
func (b *Bucket) remove(file string) error {
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return nil
	}
	if err := os.Remove(file); err != nil {
		return bare(err)
	}
	for dir := filepath.Dir(file); len(dir) > len(b.disk) && os.Remove(dir) == nil; dir = filepath.Dir(dir) {
	}
	return nil
}

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
func (b *Bucket) put(ctx context.Context, key string, data []byte, end func(*Draft, context.Context,
	string) error) error {
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
