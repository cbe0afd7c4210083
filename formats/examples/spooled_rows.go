package examples

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"iter"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/spill"
)

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
