package storage

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
)

// PageSize is how many objects a store lists with one request: the largest
// number that S3 allows.
const PageSize = 1000

// Level yields what lies directly in a folder, "" or a prefix that ends in a
// slash: its objects, and its folders as objects whose key ends in a slash.
// However many objects a folder has, it costs what one object does. The order is
// not defined.
func (b *Bucket) Level(ctx context.Context, folder string) iter.Seq2[Object, error] {
	return b.list(ctx, folder, "/", func(yield func(Object, error) bool) error { return b.levelDisk(folder, yield) })
}

func (b *Bucket) levelDisk(folder string, yield func(Object, error) bool) error {
	dir := filepath.Join(b.disk, filepath.FromSlash(folder))
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		o := Object{Key: folder + e.Name()}
		if strings.HasPrefix(e.Name(), tempPrefix) || checkKey(o.Key) != nil {
			continue // not written by rollmill: such a key cannot be read
		}
		if e.IsDir() {
			o.Key += "/"
		} else {
			info, err := os.Stat(filepath.Join(dir, e.Name()))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			switch {
			case info.IsDir(): // a link
				o.Key += "/"
			case !info.Mode().IsRegular():
				continue
			default:
				o.Size, o.ModTime = info.Size(), info.ModTime()
			}
		}
		if !yield(o, nil) {
			return nil
		}
	}
	return nil
}
