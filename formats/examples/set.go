package examples

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/rollmill/rollmill/formats"
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

// named returns the row for a number in the table. One that is not an example has its original id.
func (s *Set) named(number int64) (record, error) {
	if number < passed {
		return s.at(int(number))
	}
	return s.rows.record(number - passed)
}
