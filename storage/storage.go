// Package storage reads and writes bytes at a URI: in a local folder, process
// memory or an object store, all through gocloud.dev/blob.
//
// It knows keys and bytes, and nothing about datasets. A Bucket is rooted at a
// URI prefix; keys are slash-separated and relative to it. Everything that a
// Bucket writes is invisible until it is complete (Create, Write, Draft), and
// on a local disk it is synced before it is visible.
//
// A local disk is not read or written through gocloud: its fileblob does not sync, its
// IfNotExist has several winners, and its listing skips folders that it may not read, shows
// nothing below a root that is a symbolic link, and walks the whole tree again for every
// thousand keys. See draft.go and walk.go.
//
// Access to an object store can fail temporarily: such operations are repeated
// (retry.go), and a create whose response was lost is distinguished from one
// that another process won (exclusive_create.go). URIs never hold credentials.
//
// The clients of object stores are package stores, which a program imports to open their
// URIs; it also says how to add one.
package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gocloud.dev/blob"
)

// Bucket is the bytes under one URI prefix. It is safe for concurrent use.
type Bucket struct {
	uri    string
	prefix string       // of every key within the driver's bucket: "" or "a/b/"
	disk   string       // the folder, for a local bucket; else empty
	far    *Client      // of an object store, or nil
	drv    *blob.Bucket // of memory or an object store; nil for a local folder
	hooks  []Hook
	meters []Meter

	confined bool
}

// Confined returns the bucket of a folder that another program fills: of a local one, a link
// that leads out of it is not followed when an object is opened or read.
func (b *Bucket) Confined() *Bucket {
	c := *b
	c.confined = true
	return &c
}

// Object describes a stored object.
type Object struct {
	Key     string
	Size    int64 // bytes
	ModTime time.Time
	Content string // changes with the content, where the store lists such a digest; else ""
}

// Hook is called before every operation and may make it fail: draft, write,
// publish, read, stat, open, range, list, delete. It is called with "published"
// after an object became visible, so that a test can lose the response. Draft
// and write have no key yet. It may be called from many goroutines. See
// package counting.
type Hook func(op, key string) error

// Meter is called after an operation with the number of bytes that it
// transferred: read, range and write. off is where the range began, else 0.
type Meter func(op, key string, off, bytes int64)

// WithHook returns the same bucket with its operations reported to h before any
// hook that it already has.
func (b *Bucket) WithHook(h Hook) *Bucket {
	c := *b
	c.hooks = append([]Hook{h}, b.hooks...)
	return &c
}

// WithMeter returns the same bucket with its transferred bytes reported to m
// and to any meter that it already has.
func (b *Bucket) WithMeter(m Meter) *Bucket {
	c := *b
	c.meters = append([]Meter{m}, b.meters...)
	return &c
}

// URI returns where the bucket is rooted, without credentials or a trailing slash.
func (b *Bucket) URI() string { return b.uri }

func (b *Bucket) Local() (string, bool) { return b.disk, b.disk != "" }

// begin starts every operation on a key.
func (b *Bucket) begin(ctx context.Context, op, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := checkKey(key); err != nil {
		return b.fail(op, "", err)
	}
	return b.hook(op, key)
}

func (b *Bucket) hook(op, key string) error {
	for _, h := range b.hooks {
		if err := h(op, key); err != nil {
			return b.fail(op, key, err)
		}
	}
	return nil
}

func (b *Bucket) moved(op, key string, off int64, bytes int) {
	for _, m := range b.meters {
		m(op, key, off, int64(bytes))
	}
}

// checkKey refuses keys that would lead out of the bucket, or that some store
// would store under another name.
func checkKey(key string) error {
	wrong := ""
	for _, part := range strings.Split(key, "/") {
		switch {
		case part == "" || part == "." || part == "..":
			wrong = "a part is empty, . or .."
		case strings.HasPrefix(part, tempPrefix):
			wrong = "a part begins with " + tempPrefix
		}
	}
	switch {
	case !utf8.ValidString(key) || strings.ContainsFunc(key, unicode.IsControl):
		wrong = "it holds control characters or is not UTF-8"
	case strings.HasSuffix(key, ".attrs") || strings.Contains(key, "__0x"):
		wrong = "it ends in .attrs or holds __0x, which gocloud reserves"
	}
	if wrong != "" {
		return fmt.Errorf("key %q cannot be used: %s", key, wrong)
	}
	return nil
}

// place returns where an error happened.
func (b *Bucket) place(key string) string {
	if key == "" {
		return b.uri
	}
	base, query, found := strings.Cut(b.uri, "?")
	if b.disk != "" || !found {
		return strings.TrimSuffix(b.uri, "/") + "/" + key
	}
	return base + "/" + key + "?" + query
}

// fail adds to an error its kind, the step and the place. io.EOF and the
// context's errors are returned unchanged.
func (b *Bucket) fail(op, key string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return failed(fmt.Sprintf("%s %q", op, b.place(key)), b.uri, err)
}
