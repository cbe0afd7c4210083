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

// Set is the examples of a task file, in the file's order. Their text is in a
// temporary file (in the folder TMPDIR) when it is large; about ten bytes for
// each example are in memory. Methods other than Close are safe for concurrent
// use.
type Set struct {
	rows   spool  // every row of the file, each after its length
	index  spool  // an entry for each example
	n      int    // examples
	places *table // of ids: see pass and keep
}

// entryBytes is the size of an example's index entry: where its row is, and how
// many underscores follow its generated id.
const entryBytes = 2 * 8

// Len returns the number of examples.
func (s *Set) Len() int { return s.n }

// At returns an example, which belongs to the caller.
func (s *Set) At(i int) (formats.Example, error) {
	r, err := s.at(i)
	return r.Example, err
}

func (s *Set) at(i int) (record, error) {
	if i < 0 || i >= s.n {
		return record{}, fmt.Errorf("there is no example %d among %d", i, s.n)
	}
	var b [entryBytes]byte
	if _, err := s.index.ReadAt(b[:], int64(i)*entryBytes); err != nil {
		return record{}, err
	}
	r, err := s.rows.record(int64(binary.LittleEndian.Uint64(b[:])))
	if r.ID == "" {
		r.ID = rowID(r.Row, int(binary.LittleEndian.Uint64(b[8:])))
	}
	return r, err
}

// Find returns the index of the example with this id.
func (s *Set) Find(id string) (i int, ok bool, err error) {
	_, number, ok, err := s.first(id)
	return int(number), ok && number < passed, err
}

// Close removes the temporary file. The set cannot be used afterwards.
func (s *Set) Close() error { return errors.Join(s.rows.Close(), s.index.Close()) }

// A number in the table is the index of an example or, from passed on, that of
// a row that is not an example but whose id later rows must not have.
const passed = 1 << (numberBits - 1)

// keep makes a row the next example.
func (s *Set) keep(id string, from int64, underscores int) error {
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, entryBytes), uint64(from))
	if _, err := s.index.append(binary.LittleEndian.AppendUint64(b, uint64(underscores))); err != nil {
		return err
	}
	s.places.put(id, int64(s.n))
	s.n++
	return nil
}

// pass records the id of a row that is not an example.
func (s *Set) pass(id string, from int64) error {
	if from >= maxNumber-passed {
		return fmt.Errorf("keeping the examples: more than %d GiB of them", (maxNumber-passed)>>30)
	}
	s.places.put(id, passed+from)
	return nil
}

// first returns the row with this id that was kept or passed, and its number.
func (s *Set) first(id string) (e record, number int64, ok bool, err error) {
	number, ok, err = s.places.find(id, func(number int64) (is bool, err error) {
		e, err = s.named(number)
		return e.ID == id, err
	})
	return e, number, ok, err
}

// named returns the row for a number in the table. One that is not an example
// has its original id.
func (s *Set) named(number int64) (record, error) {
	if number < passed {
		return s.at(int(number))
	}
	return s.rows.record(number - passed)
}

// record returns the row that begins at an offset.
func (s *spool) record(from int64) (record, error) {
	return s.read(io.NewSectionReader(s, from, s.size-from), from)
}

// records yields every row, in order.
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
