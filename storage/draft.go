package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/rollmill/rollmill/storage/regular"
)

// A Draft is bytes that are invisible until Create or Replace gives them a key.
// End each draft with Create, Replace or Discard; Discard after one of the
// others does nothing. A draft is for one goroutine.
//
// gocloud's fileblob neither syncs nor creates exclusively (its IfNotExist is a
// Stat followed by a Rename, and two of sixteen concurrent writers succeed), so
// a local draft is an unnamed file that is synced and then linked. A process
// that is killed while it writes leaves nothing behind where the file system
// has unnamed files; one that is killed in Replace, between link and rename,
// may leave a file that List does not show.
type Draft struct {
	b    *Bucket
	file *os.File // the bytes: in the bucket's own folder when local, else in the temporary folder
	name string   // of a named temporary file, "" when unnamed
	done bool

	written, begun int64 // bytes: in all, and of them those that the disk was told to write
}

// behind is how many bytes may wait for the sync at the end of a local draft.
const behind = 16 << 20

const tempPrefix = ".tmp-"

// Draft begins an object whose key may be chosen when its bytes are complete.
func (b *Bucket) Draft(ctx context.Context) (*Draft, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := b.hook("draft", ""); err != nil {
		return nil, err
	}
	dir := b.disk
	if dir == "" {
		dir = os.TempDir()
	} else if err := makeFolder(dir); err != nil {
		return nil, b.fail("write", "", err)
	}
	if f, err := unnamedFile(dir); err == nil {
		return &Draft{b: b, file: f}, nil
	}
	f, err := os.CreateTemp(dir, tempPrefix+"*")
	if err != nil {
		return nil, b.fail("write", "", err)
	}
	return &Draft{b: b, file: f, name: f.Name()}, nil
}

// Write appends to the draft.
func (d *Draft) Write(p []byte) (int, error) {
	if err := d.b.hook("write", ""); err != nil {
		return 0, err
	}
	n, err := d.file.Write(p)
	d.b.moved("write", "", 0, n)
	if d.written += int64(n); d.b.disk != "" && d.written-d.begun >= behind {
		writeBehind(d.file, d.begun, d.written)
		d.begun = d.written
	}
	return n, d.b.fail("write", "", bare(err))
}

// bare removes the name of the draft's file, which means nothing to users, from an error.
func bare(err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Create makes the draft visible under key, or returns ErrExist. After ErrExist
// the draft is unchanged and can be created under another key.
func (d *Draft) Create(ctx context.Context, key string) error { return d.publish(ctx, "create", key) }

// Replace makes the draft visible under key and replaces the object there.
func (d *Draft) Replace(ctx context.Context, key string) error { return d.publish(ctx, "replace", key) }

// Discard drops the draft.
func (d *Draft) Discard() error {
	if d.done {
		return nil
	}
	d.done = true
	err := d.file.Close()
	if d.name != "" {
		err = errors.Join(err, os.Remove(d.name))
	}
	return err
}

func (d *Draft) publish(ctx context.Context, op, key string) error {
	if d.done {
		return d.b.fail(op, key, errors.New("the draft is already ended"))
	}
	err := d.b.begin(ctx, "publish", key)
	switch {
	case err != nil:
	case d.b.disk != "":
		err = d.publishFile(key, op == "create")
	case op == "create":
		err = d.uploadNew(ctx, key)
	default:
		err = d.upload(ctx, key, false, "")
	}
	if err = d.b.fail(op, key, err); errors.Is(err, ErrExist) {
		return err
	}
	_ = d.Discard() // it is published, or the first error is returned
	if err != nil {
		return err
	}
	return d.b.hook("published", key)
}

// publishFile syncs the draft and gives it its name. A concurrent Delete may
// remove the empty folder just before; then the folder is made again.
func (d *Draft) publishFile(key string, createOnly bool) error {
	if err := d.file.Sync(); err != nil {
		return bare(err)
	}
	dst := d.b.path(key)
	for tries := 0; ; tries++ {
		err := makeFolder(filepath.Dir(dst))
		if err == nil && createOnly {
			err = d.linkAs(dst)
		} else if err == nil {
			err = d.replaceFile(dst)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist) && tries < 100:
			continue
		case errors.Is(err, fs.ErrExist) && !d.is(dst):
			return cmp.Or(regular.Taken(dst), ErrExist) // who is told that it exists reads it
		case errors.Is(err, fs.ErrExist): // a network file system made the link but lost the response
		case err != nil:
			return err
		}
		return syncFolder(filepath.Dir(dst))
	}
}

// is reports whether a file is the draft itself.
func (d *Draft) is(path string) bool {
	own, err := d.file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(own, there)
}

// replaceFile links the draft under a name that no other process uses, and renames that.
func (d *Draft) replaceFile(dst string) error {
	temp := filepath.Join(filepath.Dir(dst), tempPrefix+uuid.NewString())
	if err := d.linkAs(temp); err != nil {
		return err
	}
	if err := os.Rename(temp, dst); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return nil
}

func (d *Draft) linkAs(to string) error {
	if d.name == "" {
		err := linkUnnamed(d.file, to)
		if unsupported(err) {
			return errors.Join(ErrNoLinks, err)
		}
		return err
	}
	if err := os.Chmod(d.name, 0o644); err != nil {
		return err
	}
	err := os.Link(d.name, to)
	if err == nil || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return d.moveTo(to, err) // this file system has no hard links
}

// moveTo is linkAs for file systems without hard links.
func (d *Draft) moveTo(to string, noLink error) error {
	err := renameNew(d.name, to)
	if err == nil {
		d.name = ""
		return nil
	}
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if unsupported(noLink) && unsupported(err) {
		return errors.Join(ErrNoLinks, noLink, err)
	}
	return errors.Join(noLink, err)
}

// unsupported reports whether an error of link or rename means that the file system lacks
// it: it is EPERM for link, and EINVAL for a flag of rename.
func unsupported(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EINVAL)
}

// makeFolder makes a folder and its parents, and syncs each into its parent.
func makeFolder(dir string) error {
	if info, err := os.Stat(dir); err == nil {
		if !info.IsDir() {
			return fmt.Errorf("%q is not a folder", dir)
		}
		return nil
	}
	parent := filepath.Dir(dir)
	if parent == dir {
		return &fs.PathError{Op: "mkdir", Path: dir, Err: fs.ErrNotExist}
	}
	if err := makeFolder(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncFolder(parent)
}

// syncFolder makes the folder's entries durable. It ignores a folder that is gone.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) { // some file systems cannot sync folders
		return err
	}
	return nil
}

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
