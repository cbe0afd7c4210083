package storage

import (
	"context"
	"iter"
	"path/filepath"
)

// PageSize is how many objects a store lists with one request: the largest
// number that S3 allows.
const PageSize = 1000

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
