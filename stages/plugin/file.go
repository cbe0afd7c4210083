package plugin

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"
)

// The limits of ReadFile.
const (
	maxFile  = 16 << 20
	fileTime = 10 * time.Second
)

// ReadFile reads a small file that the user names, such as a config. A pipe is read too, as
// a shell's <(command) makes one, but neither a pipe that nobody writes nor a device that
// never ends holds the command, nor keeps it from ending with its context.
func ReadFile(ctx context.Context, path string) ([]byte, error) {
	return readFile(ctx, path, maxFile, fileTime)
}

func readFile(ctx context.Context, path string, limit int64, wait time.Duration) ([]byte, error) {
	type content struct {
		data []byte
		err  error
	}
	read := make(chan content, 1)
	go func() {
		f, err := os.Open(path)
		if err != nil {
			read <- content{nil, err}
			return
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, limit+1))
		if err == nil && int64(len(data)) > limit {
			err = &os.PathError{Op: "read", Path: path, Err: fmt.Errorf("more than %d MiB", limit>>20)}
		}
		read <- content{data, err}
	}()
	select {
	case c := <-read:
		return c.data, c.err
	case <-ctx.Done():
		return nil, &os.PathError{Op: "read", Path: path, Err: ctx.Err()}
	case <-time.After(wait):
		return nil, &os.PathError{Op: "read", Path: path,
			Err: fmt.Errorf("no end after %s: is it a pipe that nothing writes to?", wait)}
	}
}
