package trainers

import (
	"bufio"
	"fmt"
	"io"
	"os"

	"github.com/tinylib/msgp/msgp"

	"github.com/rollmill/rollmill/formats/foreign/exporters"
)

// sink writes a list of micro batches. A list begins with its length, so they are in
// a temporary file until their number is known; it has no name, so that nothing is
// left when the process ends.
type sink struct {
	out        io.Writer
	spool      *os.File
	buffered   *bufio.Writer
	buf        []byte
	rows, size int64
}

func begin(out io.Writer) exporters.Sink { return &sink{out: out} }

// Give writes the micro batches of an item.
func (s *sink) Give(x *exporters.Item) error {
	var n int64
	if s.buf, n = add(s.buf[:0], x); n == 0 {
		return nil
	}
	if s.spool == nil {
		f, err := os.CreateTemp("", "rollmill-prime-rl-*")
		if err != nil {
			return fmt.Errorf("keeping micro batches: %w", err)
		}
		_ = os.Remove(f.Name()) // an open file needs no name
		s.spool, s.buffered = f, bufio.NewWriterSize(f, 256<<10)
	}
	s.rows += n
	s.size += int64(len(s.buf))
	if _, err := s.buffered.Write(s.buf); err != nil {
		return fmt.Errorf("keeping micro batches: %w", err)
	}
	return nil
}

// Rows returns the number of micro batches.
func (s *sink) Rows() int64 { return s.rows }

// Size returns the bytes of the micro batches so far.
func (s *sink) Size() int64 { return s.size }

// Close writes the list.
func (s *sink) Close() error {
	if _, err := s.out.Write(msgp.AppendArrayHeader(nil, uint32(s.rows))); err != nil || s.spool == nil {
		return err
	}
	defer s.spool.Close()
	if err := s.buffered.Flush(); err != nil {
		return fmt.Errorf("keeping micro batches: %w", err)
	}
	if _, err := s.spool.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("reading micro batches back: %w", err)
	}
	_, err := io.Copy(s.out, s.spool)
	return err
}
