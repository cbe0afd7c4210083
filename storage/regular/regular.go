// Package regular opens files by names that come from data, settings or folders. Whatever
// else may have such a name (a FIFO, a device, a socket, a folder, a file that the kernel
// makes up, or a link to one of them) is refused at once: it is neither waited for nor read.
//
// Data and folders may be anyone's, so they never name a pipe. Settings that accept one are
// read with plugin.ReadFile.
package regular

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/rollmill/rollmill/storage/fault"
)

// ErrNot marks the error about what is not a regular file.
var ErrNot error = &fault.Error{Kind: fault.Input, Row: -1, What: "not a regular file",
	Help: "name a regular file: pipes, devices and files of the kernel are not read"}

// Open opens a regular file to read it.
func Open(name string) (*os.File, error) { return OpenFile(name, os.O_RDONLY, 0) }

// OpenFile is os.OpenFile for a regular file, or for one that does not exist yet.
func OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return open(name, os.Stat, func() (*os.File, error) { return os.OpenFile(name, flag|syscall.O_NONBLOCK, perm) })
}

func open(name string, stat func(string) (fs.FileInfo, error), open func() (*os.File, error)) (*os.File, error) {
	if info, err := stat(name); err == nil { // to open a device may have effects
		if err := check(name, info); err != nil {
			return nil, err
		}
	}
	f, err := open() // what has the name now may be a FIFO
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = check(name, info)
	}
	if err == nil && virtual(f) {
		err = refused(name, "a file of the kernel")
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Taken returns an error if a name is that of something else than a regular file, such as a
// folder or a link to nothing, so that no file can have it.
func Taken(name string) error {
	info, err := os.Stat(name)
	if err == nil {
		return check(name, info)
	}
	if link, err := os.Lstat(name); err == nil && link.Mode()&fs.ModeSymlink != 0 {
		return refused(name, "a link to nothing")
	}
	return nil
}

func check(name string, info fs.FileInfo) error {
	what := "a device"
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		what = "a folder"
	case mode&fs.ModeNamedPipe != 0:
		what = "a pipe"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	}
	return refused(name, what)
}

func refused(name, what string) error {
	return &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("%s, %w", what, ErrNot)}
}
