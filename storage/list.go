package storage

import (
	"context"
	"encoding/hex"
	"iter"
	"path/filepath"
	"strings"

	"gocloud.dev/blob"
)

// PageSize is how many objects a store lists with one request: the largest number that S3 allows.
const PageSize = 1000

// List yields every object whose key begins with prefix, in key order. Objects
// that are created or deleted meanwhile may or may not be included.
func (b *Bucket) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return b.list(ctx, prefix, "", func(yield func(Object, error) bool) error {
		w := walker{ctx: ctx, prefix: prefix, yield: yield}
		return w.walk(b.disk, "")
	})
}

// Level yields what lies directly in a folder, "" or a prefix that ends in a
// slash: its objects, and its folders as objects whose key ends in a slash.
// However many objects a folder has, it costs what one object does. The order is
// not defined.
func (b *Bucket) Level(ctx context.Context, folder string) iter.Seq2[Object, error] {
	return b.list(ctx, folder, "/", func(yield func(Object, error) bool) error {
		w := walker{ctx: ctx, prefix: folder, flat: true, yield: yield}
		return w.walk(filepath.Join(b.disk, filepath.FromSlash(folder)), folder)
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
			if !yield(Object{Key: key, Size: o.Size, ModTime: o.ModTime, Content: hex.EncodeToString(o.MD5)}, nil) {
				return nil
			}
		}
	}
	return nil
}
