package examples

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/spill"
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

// record is a row of the file, and where it is spooled: from is where its length is.
type record struct {
	spooled
	from, to int64
}

// spooled is an example, and what decides whether it is kept.
type spooled struct {
	formats.Example       // ID is "" when the row has none
	Refusals        []int // filters that would refuse it
	Line            int   // in the file, from 1; 0 when rows have no lines
}

var errRecord = errors.New("a spooled example is damaged")

const lengthBytes = 8

// add appends a row after its length.
func (s *spool) add(row spooled) (record, error) {
	body := spill.Append(make([]byte, lengthBytes, 512), &row)
	binary.LittleEndian.PutUint64(body, uint64(len(body)-lengthBytes))
	from, err := s.append(body)
	return record{row, from, from + int64(len(body))}, err
}

// record returns the row that begins at an offset.
func (s *spool) record(from int64) (record, error) {
	return s.read(io.NewSectionReader(s, from, s.size-from), from)
}

func (s *spool) records() iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		in := bufio.NewReaderSize(io.NewSectionReader(s, 0, s.size), 1<<16)
		for at, err := int64(0), error(nil); at < s.size && err == nil; {
			var r record
			r, err = s.read(in, at)
			if !yield(r, err) {
				return
			}
			at = r.to
		}
	}
}

// read reads the row whose length is at an offset. in is at that offset.
func (s *spool) read(in io.Reader, from int64) (record, error) {
	var length [lengthBytes]byte
	if _, err := io.ReadFull(in, length[:]); err != nil {
		return record{}, err
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > uint64(s.size-from-lengthBytes) {
		return record{}, errRecord
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(in, body); err != nil {
		return record{}, err
	}
	r := record{from: from, to: from + lengthBytes + int64(n)}
	spill.Decode(body, &r.spooled)
	return r, nil
}
