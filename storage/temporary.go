package storage

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Abandoned returns the temporary files under a local bucket that were last
// written before a time, with names relative to it: killed writers left them on
// file systems without unnamed files. List does not show them, and a writer may
// still use a younger one. An object store has none.
func (b *Bucket) Abandoned(ctx context.Context, before time.Time) ([]Object, error) {
	if b.disk == "" {
		return nil, nil
	}
	if err := b.hook("list", tempPrefix); err != nil {
		return nil, err
	}
	var out []Object
	err := filepath.WalkDir(b.disk, func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, fs.ErrNotExist):
			return nil // removed meanwhile
		case err != nil || !d.Type().IsRegular() || !strings.HasPrefix(d.Name(), tempPrefix):
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.ModTime().Before(before) {
			return nil
		}
		name, _ := filepath.Rel(b.disk, path)
		if err == nil {
			out = append(out, Object{Key: filepath.ToSlash(name), Size: info.Size(), ModTime: info.ModTime()})
		}
		return err
	})
	return out, b.fail("list", "", err)
}

// RemoveAbandoned removes a file that Abandoned returned.
func (b *Bucket) RemoveAbandoned(_ context.Context, name string) error {
	if err := b.hook("delete", name); err != nil {
		return err
	}
	err := os.Remove(b.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return b.fail("delete", name, err)
}
