package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"gocloud.dev/blob"
	"golang.org/x/sys/unix"
)

// A Draft is bytes that nobody can see until Create or Replace names them.
// End each draft with Create, Replace or Discard; Discard after either does
// nothing. A draft is for one goroutine.
//
// gocloud's fileblob neither syncs nor creates exclusively (its IfNotExist is
// a Stat followed by a Rename, and two of sixteen racers win), so a local
// draft is an unnamed file, synced and then linked. A process killed at any
// moment leaves nothing behind where the file system has unnamed files.
type Draft struct {
	b    *Bucket
	file *os.File // the bytes: in the bucket's own folder when local, else in the temporary folder
	name string   // of a named temporary file, "" when unnamed
	done bool
}

const tempPrefix = ".tmp-"

func isTemp(key string) bool {
	return strings.HasPrefix(key[strings.LastIndex(key, "/")+1:], tempPrefix)
}

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
	} else if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, b.fail("write", "", err)
	}
	d := &Draft{b: b}
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o666)
	if err == nil {
		d.file = os.NewFile(uintptr(fd), filepath.Join(dir, tempPrefix+"unnamed"))
		return d, nil
	}
	if d.file, err = os.CreateTemp(dir, tempPrefix+"*"); err != nil {
		return nil, b.fail("write", "", err)
	}
	d.name = d.file.Name()
	return d, nil
}

// Write appends to the draft.
func (d *Draft) Write(p []byte) (int, error) {
	if err := d.b.hook("write", ""); err != nil {
		return 0, err
	}
	return d.file.Write(p)
}

// ReadAt reads back what was written.
func (d *Draft) ReadAt(p []byte, off int64) (int, error) { return d.file.ReadAt(p, off) }

// Create makes the draft visible under key, or returns ErrExist.
func (d *Draft) Create(ctx context.Context, key string) error { return d.publish(ctx, key, true) }

// Replace makes the draft visible under key, in place of what was there.
func (d *Draft) Replace(ctx context.Context, key string) error { return d.publish(ctx, key, false) }

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

func (d *Draft) publish(ctx context.Context, key string, createOnly bool) error {
	defer d.Discard()
	if d.done {
		return fmt.Errorf("publish %q: the draft is already ended", key)
	}
	if err := d.b.hook("publish", key); err != nil {
		return err
	}
	if d.b.disk == "" {
		return d.b.fail("create", key, d.upload(ctx, key, createOnly))
	}
	return d.b.fail("create", key, d.link(key, createOnly))
}

func (d *Draft) upload(ctx context.Context, key string, createOnly bool) error {
	if _, err := d.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	drv, err := d.b.driver()
	if err != nil {
		return err
	}
	return drv.Upload(ctx, d.b.prefix+key, d.file, &blob.WriterOptions{
		ContentType: "application/octet-stream", IfNotExist: createOnly, DisableContentTypeDetection: true,
	})
}

func (d *Draft) link(key string, createOnly bool) error {
	if err := d.file.Sync(); err != nil {
		return err
	}
	dst := filepath.Join(d.b.disk, filepath.FromSlash(key))
	if err := os.MkdirAll(filepath.Dir(dst), 0o777); err != nil {
		return err
	}
	to := dst
	if !createOnly {
		to = filepath.Join(filepath.Dir(dst), fmt.Sprintf("%s%d-%d", tempPrefix, os.Getpid(), d.file.Fd()))
		_ = os.Remove(to)
	}
	if err := d.linkAs(to); err != nil {
		if errors.Is(err, os.ErrExist) {
			return ErrExist
		}
		return err
	}
	if !createOnly {
		if err := os.Rename(to, dst); err != nil {
			return err
		}
	}
	return syncDir(filepath.Dir(dst))
}

func (d *Draft) linkAs(to string) error {
	if d.name != "" {
		_ = os.Chmod(d.name, 0o644)
		return os.Link(d.name, to)
	}
	from := fmt.Sprintf("/proc/self/fd/%d", d.file.Fd())
	return unix.Linkat(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.AT_SYMLINK_FOLLOW)
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
