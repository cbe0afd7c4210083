package records

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/storage/fault"
)

// MaxRecord bounds the size of a row, so that a file without line ends is refused
// before it fills the memory.
const MaxRecord = 64 << 20

// readJSONL yields one object for each line. Blank lines are skipped.
func readJSONL(s File, yield func(Record) bool) error {
	r := s.Reader()
	if err := skipBOM(s.Name, r); err != nil {
		return err
	}
	var lines slab
	for number := 1; ; number++ {
		text, err := jsontext.ReadLine(r, MaxRecord, errLongLine)
		last := errors.Is(err, io.EOF)
		if err != nil && !last {
			return s.lineError(number, err)
		}
		if text = bytes.TrimSpace(text); len(text) > 0 {
			if err := checkUTF8(text); err != nil {
				return s.lineError(number, err)
			}
			if !yield(Record{Object: lines.clone(text), Line: number}) {
				return nil
			}
		}
		if last {
			return nil
		}
	}
}

// slab clones short lines into larger pieces of memory.
type slab []byte

const slabBytes = 64 << 10

func (s *slab) clone(line []byte) []byte {
	if len(line) > slabBytes/4 {
		return bytes.Clone(line)
	}
	if cap(*s)-len(*s) < len(line) {
		*s = new([slabBytes]byte)[:0]
	}
	from := len(*s)
	*s = append(*s, line...)
	return (*s)[from:len(*s):len(*s)]
}

var errLongLine = fmt.Errorf("the line is longer than %d MiB", MaxRecord>>20)

func (s File) lineError(number int, err error) error {
	if !errors.Is(err, errNotUTF8) && !errors.Is(err, errLongLine) {
		return fmt.Errorf("reading %q line %d: %w", s.Name, number, err)
	}
	hint := "is each object on one line? write one object a line, or split it into several records"
	if errors.Is(err, errNotUTF8) {
		hint = "save the file as UTF-8"
	}
	return fault.Invalid(s.Name, hint, err, "line %d", number)
}
