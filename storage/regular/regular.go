// Package regular opens files by names that come from data, settings or folders. Whatever
// else may have such a name (a FIFO, a device, a socket, a folder, a file that the kernel
// makes up, or a link to one of them) is refused at once: it is neither waited for nor read.
//
// Data and folders may be anyone's, so they never name a pipe. Settings that accept one are
// read with plugin.ReadFile.
package regular

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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

// OpenIn opens a regular file in a folder. A link that leads out of the folder is refused.
func OpenIn(folder, name string) (*os.File, error) {
	root, err := Root(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if _, err := root.Stat(name); err != nil {
		if _, gone := os.Stat(filepath.Join(folder, name)); gone == nil {
			return nil, refused(name, "a link out of its folder")
		}
	}
	return open(name, root.Stat, func() (*os.File, error) { return root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) })
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

// ReadFile reads a regular file of at most limit bytes.
func ReadFile(name string, limit int64) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("more than %d bytes", limit)}
	}
	return data, err
}

// Digest returns the SHA-256 of a regular file's content, in hex.
func Digest(ctx context.Context, name string) (string, error) {
	f, err := Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, Reader(ctx, f))
	return hex.EncodeToString(sum.Sum(nil)), err
}

// Reader returns a reader that ends with a context.
func Reader(ctx context.Context, r io.Reader) io.Reader { return reader{ctx, r} }

type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// Root opens a folder, as os.OpenRoot does. That one waits for the writer of a FIFO.
func Root(name string) (*os.Root, error) {
	info, err := os.Stat(name)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: name, Err: syscall.ENOTDIR}
	}
	if err != nil {
		return nil, err
	}
	return os.OpenRoot(name)
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
