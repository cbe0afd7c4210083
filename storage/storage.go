// Package storage gives bytes at a URI: a local folder, process memory or an
// object store, all through gocloud.dev/blob.
//
// It knows keys and bytes, nothing of datasets. A Bucket is rooted at a URI
// prefix; keys are slash-separated and relative to it. Whatever a Bucket
// writes is invisible until it is whole (Create, Write, Draft.Commit), and on
// a local disk it is synced before it is visible.
//
// To add a scheme: add a line to openers in open.go, and run
// storagetest.Run over it.
package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// The kinds of failure that callers act on. Test with errors.Is. The first
// two are also fs.ErrNotExist and fs.ErrExist, for callers that take any store.
var (
	ErrNotExist  error = kind{"does not exist", fs.ErrNotExist}
	ErrExist     error = kind{"already exists", fs.ErrExist}
	ErrDenied          = errors.New("permission denied")
	ErrTemporary       = errors.New("temporary storage failure")
)

type kind struct {
	text string
	std  error
}

func (k kind) Error() string { return k.text }
func (k kind) Unwrap() error { return k.std }

// Bucket is the bytes under one URI prefix. It is safe for concurrent use.
type Bucket struct {
	uri    string
	prefix string // of every key within the driver's bucket: "" or "a/b/"
	disk   string // the folder, for a local bucket; else empty
	driver func() (*blob.Bucket, error)
	wrap   Hook
}

// Object describes a stored object.
type Object struct {
	Key     string
	Size    int64 // bytes
	ETag    string
	ModTime time.Time
}

// Hook sees every operation before it happens and may fail it; tests use it to
// count and to inject faults (see packages counting and faulty).
type Hook func(op, key string) error

// WithHook returns the same bucket, its operations reported to h first.
func (b *Bucket) WithHook(h Hook) *Bucket {
	c := *b
	c.wrap = h
	return &c
}

func (b *Bucket) hook(op, key string) error {
	if b.wrap == nil {
		return nil
	}
	if err := b.wrap(op, key); err != nil {
		return b.fail(op, key, err)
	}
	return nil
}

// URI is where the bucket is rooted, without credentials or a trailing slash.
func (b *Bucket) URI() string { return b.uri }

// Local returns the folder of a bucket on a local disk, and whether it is one.
func (b *Bucket) Local() (string, bool) { return b.disk, b.disk != "" }

// Read returns the whole object, or ErrNotExist.
func (b *Bucket) Read(ctx context.Context, key string) ([]byte, error) {
	if err := b.hook("read", key); err != nil {
		return nil, err
	}
	drv, err := b.driver()
	if err != nil {
		return nil, b.fail("read", key, err)
	}
	data, err := drv.ReadAll(ctx, b.prefix+key)
	return data, b.fail("read", key, err)
}

// Stat describes an object, or ErrNotExist.
func (b *Bucket) Stat(ctx context.Context, key string) (Object, error) {
	if err := b.hook("stat", key); err != nil {
		return Object{}, err
	}
	drv, err := b.driver()
	if err != nil {
		return Object{}, b.fail("stat", key, err)
	}
	a, err := drv.Attributes(ctx, b.prefix+key)
	if err != nil {
		return Object{}, b.fail("stat", key, err)
	}
	return Object{Key: key, Size: a.Size, ETag: a.ETag, ModTime: a.ModTime}, nil
}

// List yields every object whose key begins with prefix, in key order.
func (b *Bucket) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		if err := b.hook("list", prefix); err != nil {
			yield(Object{}, err)
			return
		}
		drv, err := b.driver()
		if errors.Is(err, ErrNotExist) {
			return // a folder that is not there holds nothing
		}
		if err != nil {
			yield(Object{}, b.fail("list", prefix, err))
			return
		}
		it := drv.List(&blob.ListOptions{Prefix: b.prefix + prefix})
		for {
			o, err := it.Next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(Object{}, b.fail("list", prefix, err))
				return
			}
			key := strings.TrimPrefix(o.Key, b.prefix)
			if isTemp(key) {
				continue
			}
			if !yield(Object{Key: key, Size: o.Size, ModTime: o.ModTime}, nil) {
				return
			}
		}
	}
}

// Delete removes an object; one that is not there is no error.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	if err := b.hook("delete", key); err != nil {
		return err
	}
	drv, err := b.driver()
	if err == nil {
		err = drv.Delete(ctx, b.prefix+key)
	}
	if gcerrors.Code(err) == gcerrors.NotFound || errors.Is(err, ErrNotExist) {
		return nil
	}
	return b.fail("delete", key, err)
}

// Create makes an object that must not exist yet, whole or not at all, or
// returns ErrExist. Of any number of racing creators exactly one succeeds.
func (b *Bucket) Create(ctx context.Context, key string, data []byte) error {
	return b.put(ctx, key, data, true)
}

// Write makes or replaces an object, whole or not at all.
func (b *Bucket) Write(ctx context.Context, key string, data []byte) error {
	return b.put(ctx, key, data, false)
}

func (b *Bucket) put(ctx context.Context, key string, data []byte, createOnly bool) error {
	d, err := b.Draft(ctx)
	if err != nil {
		return err
	}
	defer d.Discard()
	if _, err := d.Write(data); err != nil {
		return b.fail("write", key, err)
	}
	if createOnly {
		return d.Create(ctx, key)
	}
	return d.Replace(ctx, key)
}

// fail gives an error its kind, the step, and the place.
func (b *Bucket) fail(op, key string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	place := b.uri
	if key != "" {
		place = strings.TrimSuffix(b.uri, "/") + "/" + key
	}
	if kind := kindOf(err); kind != nil && !errors.Is(err, kind) {
		return fmt.Errorf("%s %q: %w: %w", op, place, kind, err)
	}
	return fmt.Errorf("%s %q: %w", op, place, err)
}

func kindOf(err error) error {
	switch gcerrors.Code(err) {
	case gcerrors.NotFound:
		return ErrNotExist
	case gcerrors.AlreadyExists, gcerrors.FailedPrecondition:
		return ErrExist
	case gcerrors.PermissionDenied:
		return ErrDenied
	case gcerrors.ResourceExhausted, gcerrors.DeadlineExceeded:
		return ErrTemporary
	}
	return nil
}

// Join appends slash-separated elements to a URI or a local path.
func Join(uri string, elem ...string) string {
	if !strings.Contains(uri, "://") {
		return filepath.Join(append([]string{uri}, elem...)...)
	}
	base, query, _ := strings.Cut(uri, "?")
	out := strings.TrimSuffix(base, "/") + "/" + path.Join(elem...)
	if query != "" {
		out += "?" + query
	}
	return out
}

// Split cuts the last element off a URI or a local path: the folder and name.
func Split(uri string) (dir, name string) {
	if !strings.Contains(uri, "://") {
		return filepath.Dir(uri), filepath.Base(uri)
	}
	base, query, _ := strings.Cut(uri, "?")
	base = strings.TrimSuffix(base, "/")
	dir, name = path.Split(base)
	dir = strings.TrimSuffix(dir, "/")
	if query != "" {
		dir += "?" + query
	}
	return dir, name
}

// Redact removes credentials from a URI, for records, logs and errors.
func Redact(uri string) string {
	if !strings.Contains(uri, "://") {
		return uri
	}
	u, err := url.Parse(uri)
	if err != nil || u.User == nil {
		return uri
	}
	u.User = nil
	return u.String()
}
