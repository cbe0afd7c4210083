package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

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
