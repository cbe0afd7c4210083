package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"gocloud.dev/blob"
)

// Swap replaces an object whose content is exactly old, completely or not at
// all. When it has any other content, or is gone, nothing changes and the error
// is ErrChanged. Exactly one of concurrent swaps of one content succeeds.
//
// On a local disk the comparison and the rename are made under a lock of the
// object's folder, which ends with its process. Object stores compare versions
// themselves (If-Match). In one that cannot, the error is ErrUnguarded and
// nothing is written: see Replaces.
func (b *Bucket) Swap(ctx context.Context, key string, old, data []byte) error {
	if err := b.begin(ctx, "publish", key); err != nil {
		return err
	}
	var err error
	switch {
	case b.disk != "":
		err = b.swapFile(ctx, key, old, data)
	case b.far == nil:
		err = b.swapInMemory(ctx, key, old, data)
	default:
		err = b.swapFar(ctx, key, old, data)
	}
	if err != nil {
		return b.fail("replace", key, err)
	}
	return b.hook("published", key)
}

func (b *Bucket) swapFile(ctx context.Context, key string, old, data []byte) error {
	unlock, err := lockFolder(ctx, filepath.Dir(b.path(key)))
	if err != nil {
		return err
	}
	defer unlock()
	if err := b.holds(ctx, key, old); err != nil {
		return err
	}
	return b.put(ctx, key, data, func(d *Draft, _ context.Context, key string) error { return d.publishFile(key, false) })
}

// holds returns ErrChanged unless the object has exactly this content.
func (b *Bucket) holds(ctx context.Context, key string, want []byte) error {
	is, err := b.Read(ctx, key)
	if errors.Is(err, ErrNotExist) || err == nil && !bytes.Equal(is, want) {
		return ErrChanged
	}
	return err
}

// memory is locked while an object in process memory is compared and written.
var memory sync.Mutex

func (b *Bucket) swapInMemory(ctx context.Context, key string, old, data []byte) error {
	memory.Lock()
	defer memory.Unlock()
	if err := b.holds(ctx, key, old); err != nil {
		return err
	}
	return b.upload(ctx, key, bytes.NewReader(data), &blob.WriterOptions{})
}

// upload sends bytes as the object.
func (b *Bucket) upload(ctx context.Context, key string, data io.ReadSeeker, o *blob.WriterOptions) error {
	o.ContentType, o.DisableContentTypeDetection = "application/octet-stream", true
	size, err := data.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	return b.retry(ctx, func(ctx request) error {
		ctx.moves(size)
		if _, err := data.Seek(0, io.SeekStart); err != nil {
			return err
		}
		return b.drv.Upload(ctx, b.prefix+key, data, o)
	})
}

// swapFar reads the object's version first and then its content: if the content
// is old, and the version is unchanged when the store writes, no other process
// has written in between.
func (b *Bucket) swapFar(ctx context.Context, key string, old, data []byte) error {
	if err := b.replaces(ctx); err != nil {
		return err
	}
	version, err := b.attributes(ctx, key)
	if kindOf(err) == ErrNotExist {
		return ErrChanged
	}
	if err == nil {
		err = b.holds(ctx, key, old)
	}
	if err != nil {
		return err
	}
	err = b.upload(ctx, key, bytes.NewReader(data), b.far.ifVersion(version))
	if kind := kindOf(err); kind != ErrExist && kind != ErrNotExist {
		return err
	}
	// Refused because of another's version, or of our own whose response was
	// lost.
	return b.holds(ctx, key, data)
}

// Replaces returns an error that is ErrUnguarded if Swap cannot be exact here,
// because the store does not compare versions when it writes. A store of a third
// party is tested once, with an object that is kept. What would later replace an
// object asks first.
func (b *Bucket) Replaces(ctx context.Context) error {
	return b.fail("replace objects at", "", b.replaces(ctx))
}

func (b *Bucket) replaces(ctx context.Context) error {
	if b.far == nil || b.far.exclusive {
		return nil
	}
	exclusive, err := b.Exclusive(ctx)
	switch {
	case err != nil:
		return err
	case !exclusive:
		return ErrUnguarded
	}
	compares, err := b.far.versions.test(func() (bool, error) {
		never := b.far.ifVersion(&blob.Attributes{ETag: `"00000000000000000000000000000000"`})
		err := b.upload(ctx, probeKey, bytes.NewReader(nil), never)
		if kindOf(err) == ErrExist || kindOf(err) == ErrNotExist {
			return true, nil
		}
		return false, err
	})
	if err == nil && !compares {
		err = ErrUnguarded
	}
	return err
}

// lockWait is how long to wait for a lock: its holder compares and renames one
// small file, so a process that holds it longer was suspended.
var lockWait = 20 * time.Second

// lockFolder locks a folder against other processes and other goroutines of
// this one, with a file that exists as long as a process holds the lock or
// waits for it. The lock ends with the process, even if that is killed.
func lockFolder(ctx context.Context, dir string) (unlock func(), err error) {
	name := filepath.Join(dir, tempPrefix+"lock")
	for deadline := time.Now().Add(lockWait); ; {
		f, err := lockFile(name)
		switch {
		case err == nil:
			return func() { _ = os.Remove(name); f.Close() }, nil
		case errors.Is(err, fs.ErrNotExist):
			return nil, ErrChanged // no folder, so no object
		case err != errLocked:
			return nil, fmt.Errorf("lock: %w", bare(err))
		case time.Now().After(deadline):
			return nil, fmt.Errorf("%w: another process has locked the folder for %v", ErrTemporary, lockWait)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

var errLocked = errors.New("locked")

// lockFile opens and locks a file if no other process has locked it. The
// previous holder of the lock removed the file, so the file with that name must
// still be the one that was opened.
func lockFile(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if err == syscall.EWOULDBLOCK || err == syscall.EINTR {
			err = errLocked
		}
		return nil, err
	}
	own, err := f.Stat()
	if there, look := os.Lstat(name); err != nil || look != nil || !os.SameFile(own, there) {
		f.Close()
		return nil, errLocked
	}
	return f, nil
}
