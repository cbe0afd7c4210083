package examples

import (
	"fmt"
	"io"
	"os"
)

// spoolMemory is how many bytes of a spool stay in memory, so that small sets
// need no file. Tests reduce it.
var spoolMemory = 1 << 20

// spool is bytes that are appended and then read at any position. Bytes above a
// fixed number are in a temporary file, which is unlinked once it is open, so
// that it disappears when the process ends, even if that is killed.
//
// It is for one goroutine while it grows, and then for any number.
type spool struct {
	f    *os.File
	tail []byte // what is not in the file yet
	size int64
}

// append returns the offset of b.
func (s *spool) append(b []byte) (at int64, err error) {
	if len(s.tail)+len(b) > spoolMemory {
		if err := s.flush(); err != nil {
			return 0, err
		}
	}
	at = s.size
	s.tail = append(s.tail, b...)
	s.size += int64(len(b))
	return at, nil
}

func (s *spool) flush() error {
	if s.f == nil {
		f, err := os.CreateTemp("", "rollmill-examples-*")
		if err != nil {
			return fmt.Errorf("keeping the examples: %w", err)
		}
		s.f = f
		_ = os.Remove(f.Name()) // an open file needs no name, and nothing is left if the process dies
	}
	if _, err := s.f.WriteAt(s.tail, s.flushed()); err != nil {
		return fmt.Errorf("keeping the examples: %w", err)
	}
	s.tail = s.tail[:0]
	return nil
}

func (s *spool) flushed() int64 { return s.size - int64(len(s.tail)) }

// ReadAt implements io.ReaderAt.
func (s *spool) ReadAt(p []byte, off int64) (n int, err error) {
	flushed := s.flushed()
	if off < flushed {
		if n, err = s.f.ReadAt(p[:min(int64(len(p)), flushed-off)], off); err != nil {
			return n, fmt.Errorf("reading the examples back: %w", err)
		}
	}
	if n < len(p) && off+int64(n) < s.size {
		n += copy(p[n:], s.tail[off+int64(n)-flushed:])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Close removes the file.
func (s *spool) Close() error {
	if s.f == nil {
		return nil
	}
	err := s.f.Close()
	s.f = nil
	return err
}
