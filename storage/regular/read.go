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
)

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
