// Package scratch makes temporary folders that outlive no process for long: one that was
// killed cannot remove its own, so the next process that makes one does.
package scratch

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

const prefix = "rollmill-scratch-"

// Folder is a temporary folder. It is locked as long as its process lives.
type Folder struct {
	Path string
	lock *os.File
}

// Make makes a folder in dir, by default the system's folder for temporary files, and
// removes those there of processes that have ended.
func Make(dir string) (*Folder, error) {
	if dir == "" {
		dir = os.TempDir()
	}
	sweep(dir)
	made, err := os.MkdirTemp(dir, "."+prefix) // under another name until it is locked
	if err != nil {
		return nil, err
	}
	f := &Folder{Path: filepath.Join(dir, filepath.Base(made)[1:])}
	if f.lock, err = locked(made); err == nil {
		err = os.Rename(made, f.Path)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(made))
	}
	return f, nil
}

// Close removes the folder.
func (f *Folder) Close() error { return errors.Join(os.RemoveAll(f.Path), f.lock.Close()) }

// Alive reports whether the process of a folder lives. One whose folder is gone does not.
func Alive(folder string) bool {
	lock, err := locked(folder)
	if err == nil {
		lock.Close()
	}
	return err != nil && !os.IsNotExist(err)
}

// sweep removes the folders that no process has locked. What cannot be removed, such as
// another user's, is left.
func sweep(dir string) {
	found, _ := filepath.Glob(filepath.Join(dir, prefix+"*")) // the pattern is valid
	for _, name := range found {
		if lock, err := locked(name); err == nil {
			_ = os.RemoveAll(name)
			lock.Close()
		}
	}
}

func locked(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
