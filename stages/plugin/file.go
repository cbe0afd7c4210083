package plugin

import (
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

// ReadFile reads a small file that a setting names, such as a config or a key. A pipe
// is read too, as a shell's <(command) makes one, but neither a pipe that nobody writes
// nor a device that never ends holds the command.
func ReadFile(path string) ([]byte, error) { return readFile(path, maxFile, fileTime) }

func readFile(path string, limit int64, wait time.Duration) ([]byte, error) {
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
	case <-time.After(wait):
		return nil, &os.PathError{Op: "read", Path: path,
			Err: fmt.Errorf("no end after %s: is it a pipe that nothing writes to?", wait)}
	}
}
