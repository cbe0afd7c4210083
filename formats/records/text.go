package records

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/rollmill/rollmill/formats/jsontext"
)

var (
	errLongRecord    = fmt.Errorf("a record is longer than %d MiB", MaxRecord>>20)
	errLongColumnMap = fmt.Errorf("one object is longer than %d MiB", maxColumnMap>>20)
)

// text is a JSON file's text, a part of which is in memory. Its values may have
// Python's NaN and infinities.
type text struct {
	in      io.Reader
	buf     []byte
	rest    []byte // what is next: the end of buf
	line    int    // on which rest begins, from 1
	limit   int    // of the length of a value
	tooLong error  // for a longer one
	err     error  // of the last reading; io.EOF at the end
}

// more makes the rest longer, and reports whether it is.
func (t *text) more() bool {
	if t.err == nil && len(t.rest) > t.limit {
		t.err = t.tooLong
	}
	if t.err != nil {
		return false
	}
	const piece = 64 << 10
	kept := copy(t.buf, t.rest)
	if kept == len(t.buf) {
		t.buf = append(t.buf, make([]byte, max(piece, kept))...)
	}
	n, err := io.ReadFull(t.in, t.buf[kept:])
	if err == io.ErrUnexpectedEOF { // and not one that wraps it
		err = io.EOF
	}
	t.rest, t.err = t.buf[:kept+n], err
	return n > 0
}

func (t *text) failed() bool { return t.err != nil && t.err != io.EOF }

// skip goes on, and returns what it skipped.
func (t *text) skip(n int) []byte {
	skipped := t.rest[:n]
	t.rest, t.line = t.rest[n:], t.line+bytes.Count(skipped, []byte("\n"))
	return skipped
}

// peek skips white space, and returns the byte after it. It skips none at the end.
func (t *text) peek() (next byte, more bool) {
	i := jsontext.Space(t.rest, 0)
	for i == len(t.rest) {
		if !t.more() {
			return 0, false
		}
		i = jsontext.Space(t.rest, i)
	}
	t.skip(i)
	return t.rest[0], true
}

// next returns the value that is next, which is valid until something else is read. An
// error with a line says why it is not JSON.
func (t *text) next() (value []byte, line int, err error) {
	end := jsontext.Skip(t.rest, 0)
	for end == len(t.rest) && t.more() {
		end = jsontext.Skip(t.rest, 0)
	}
	value = t.rest[:end]
	cut := end == len(t.rest) && t.failed()
	switch {
	case cut && !errors.Is(t.err, t.tooLong):
		return nil, 0, t.err
	case !cut && !utf8.Valid(value):
		return nil, 0, errNotUTF8
	case !cut && jsontext.Valid(value):
		return t.skip(end), 0, nil
	}
	line, err = t.fault()
	if cut && (err == errNoComma || errors.Is(err, io.ErrUnexpectedEOF)) {
		return nil, 0, t.err
	}
	return nil, line, err
}

var errNoComma = errors.New("expected comma after array element")

// fault returns what encoding/json says about the value that is next, and the line.
func (t *text) fault() (line int, err error) {
	standard, _ := jsontext.Standard(t.rest)
	err = json.NewDecoder(bytes.NewReader(standard)).Decode(new(json.RawMessage))
	line = t.line
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		line += bytes.Count(standard[:syntax.Offset], []byte("\n"))
	}
	if err == nil { // a number or a word, with something else after it
		err = errNoComma
	}
	return line, err
}
