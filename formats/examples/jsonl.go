package examples

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/rollmill/rollmill/formats"
)

// maxLine bounds the size of a row, so that a file without line ends is refused
// before it fills the memory.
const maxLine = 64 << 20

// readJSONL yields one object for each line. Blank lines are skipped.
func readJSONL(s source) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		r := s.reader()
		if err := skipBOM(s.name, r); err != nil {
			yield(line{}, err)
			return
		}
		row := 0
		for number := 1; ; number++ {
			text, err := readLine(r)
			if err != nil && !errors.Is(err, io.EOF) {
				yield(line{}, s.lineError(row, number, err))
				return
			}
			last := err != nil
			if text = bytes.TrimSpace(text); len(text) > 0 {
				if err := checkUTF8(text); err != nil {
					yield(line{}, s.lineError(row, number, err))
					return
				}
				if !yield(line{object: bytes.Clone(standard(text)), number: number}, nil) {
					return
				}
				row++
			}
			if last {
				return
			}
		}
	}
}

var errLongLine = fmt.Errorf("the line is longer than %d MiB", maxLine>>20)

// readLine returns the next line, which is valid until the next call, and
// io.EOF with the last one.
func readLine(r *bufio.Reader) ([]byte, error) {
	text, err := r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return text, err
	}
	long := bytes.Clone(text)
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(long) > maxLine {
			return nil, errLongLine
		}
		text, err = r.ReadSlice('\n')
		long = append(long, text...)
	}
	return long, err
}

func (s source) lineError(row, number int, err error) error {
	if !errors.Is(err, errNotUTF8) && !errors.Is(err, errLongLine) {
		return fmt.Errorf("reading %q line %d: %w", s.name, number, err)
	}
	hint := ""
	if errors.Is(err, errNotUTF8) {
		hint = "save the file as UTF-8"
	}
	e := formats.Invalid(s.name, hint, err, "line %d", number)
	e.Row = int64(row)
	return e
}
