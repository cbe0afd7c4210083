package storage

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// walker yields the files under a folder as objects, in key order. Links to files
// are followed, links to folders are not, because they may form cycles; the
// folder itself may be a link. A file that disappears meanwhile is skipped; a
// folder that may not be read is an error.
type walker struct {
	ctx    context.Context
	prefix string // of the keys that are yielded
	flat   bool   // folders are yielded, and not entered: see Level
	yield  func(Object, error) bool
}

// walk yields what is in a folder, whose key is "" or ends in a slash.
func (w *walker) walk(dir, key string) error {
	err := w.folder(dir, key)
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

var errStop = errors.New("enough")

func (w *walker) folder(dir, key string) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	// A folder sorts like its name with a slash, because its keys continue with
	// one: "a.b" comes before "a/x".
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
		if e.IsDir() {
			names[i] += "/"
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if err := w.entry(dir, key, name); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) entry(dir, key, name string) error {
	base, isFolder := strings.CutSuffix(name, "/")
	key += name
	switch {
	case strings.HasPrefix(base, tempPrefix):
		return nil
	case isFolder && !w.flat && (strings.HasPrefix(key, w.prefix) || strings.HasPrefix(w.prefix, key)):
		return w.folder(filepath.Join(dir, base), key)
	case isFolder && !w.flat || !strings.HasPrefix(key, w.prefix) || checkKey(strings.TrimSuffix(key, "/")) != nil:
		return nil // not written by rollmill: such a key cannot be read
	case isFolder:
		return w.found(Object{Key: key})
	}
	info, err := os.Stat(filepath.Join(dir, base))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	switch {
	case info.Mode().IsRegular():
		return w.found(Object{Key: key, Size: info.Size(), ModTime: info.ModTime()})
	case info.IsDir() && w.flat: // a link
		return w.found(Object{Key: key + "/"})
	}
	return nil
}

func (w *walker) found(o Object) error {
	if !w.yield(o, nil) {
		return errStop
	}
	return nil
}
