package records

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/rollmill/rollmill/formats"
)

// readJSON yields the records of an array one by one, or of a column map as
// pandas writes it: {"id":{"0":"q1"},"question":{"0":"2+2?"}}. A column map is
// held in memory while it is read, because its first row ends in the last
// column.
func readJSON(s File, yield func(Record) bool) error {
	text, err := s.text()
	if err != nil {
		return err
	}
	text.keep = true
	in := bufio.NewReader(text)
	start, first, err := skipSpace(in)
	switch {
	case errors.Is(err, io.EOF):
		return formats.Invalid(s.Name, s.wantJSON(), nil, "the file is empty")
	case err != nil:
		return s.textError(err)
	case first == '[':
		return s.records(&array{text: text, dec: json.NewDecoder(in), start: start}, yield)
	case first == '{':
		return s.columnMap(text, in, start, yield)
	}
	head, _ := in.Peek(64)
	return formats.Invalid(s.Name, s.wantJSON(), nil, "the file begins with %s", brief(head))
}

// maxColumnMap bounds the size of a column map, which is held in memory. Tests
// reduce it.
var maxColumnMap int64 = 512 << 20

// columnMap reads the one object of a column map. In JSON lines the first
// object ends long before the file does, so no more than that object is held.
func (s File) columnMap(text *text, in *bufio.Reader, start int64, yield func(Record) bool) error {
	text.limit, text.tooLong = maxColumnMap, errLongColumnMap
	dec := json.NewDecoder(in)
	var object json.RawMessage
	err := dec.Decode(&object)
	end := start + dec.InputOffset()
	var after error
	if err == nil {
		_, after = dec.Token()
	}
	switch {
	case err == nil && after == io.EOF:
		return s.columns(text.restore(object, end), yield)
	case text.failed():
		return s.textError(text.err)
	case err != nil:
		return formats.Invalid(s.Name, s.wantJSON(), unexpected(err), "%s is not JSON", s.lineOf(start+offsetOf(err, dec)))
	}
	return formats.Invalid(s.Name, "this looks like JSON lines: "+s.asLines(), nil,
		"%s: a second value follows the first", s.lineOf(start+dec.InputOffset()))
}

func (s File) wantJSON() string {
	return "the json format is an array of records [{…}, …] or a map of columns; for one object a line " + s.asLines()
}

// skipSpace returns the first byte that is not white space, which it does not
// consume, and how many it skipped.
func skipSpace(in *bufio.Reader) (n int64, first byte, err error) {
	for {
		b, err := in.ReadByte()
		if err != nil {
			return n, 0, err
		}
		if b != ' ' && b != '\t' && b != '\r' && b != '\n' {
			return n, b, in.UnreadByte()
		}
		n++
	}
}

// textError returns the error of reading the file's text.
func (s File) textError(err error) error {
	switch {
	case errors.Is(err, errNotUTF8):
		return formats.Invalid(s.Name, "save the file as UTF-8", err, "it cannot be read")
	case errors.Is(err, errLongColumnMap):
		return formats.Invalid(s.Name,
			"write it as JSON lines, which are read one by one: in pandas, to_json(orient=\"records\", lines=True)", err,
			"it cannot be read")
	case errors.Is(err, errLongRecord):
		return formats.Invalid(s.Name, wantWhole, err, "it cannot be read")
	}
	return fmt.Errorf("reading %q: %w", s.Name, err)
}

// array is a JSON array that is being read.
type array struct {
	text  *text
	dec   *json.Decoder
	start int64 // of the array, in the text
}

// next decodes the next value if it is not too long.
func (a *array) next() (v json.RawMessage, err error) {
	a.text.limit = a.at() + MaxRecord
	if err = a.dec.Decode(&v); err == nil {
		v = a.text.restore(v, a.at())
	}
	return v, err
}

// at returns where the last token ended in the text.
func (a *array) at() int64 { return a.start + a.dec.InputOffset() }

func (s File) records(a *array, yield func(Record) bool) error {
	_, _ = a.dec.Token() // the bracket, which is there
	for row := 0; a.dec.More(); row++ {
		record, err := a.next()
		if err != nil && a.text.failed() {
			return s.textError(a.text.err)
		}
		if err != nil {
			return invalid(s.Name, row, err, "%s is not JSON", s.lineOfError(a.at()))
		}
		if !yield(Record{Object: record}) {
			return nil
		}
	}
	_, err := a.dec.Token()
	var after error
	if err == nil {
		_, after = a.dec.Token()
	}
	switch {
	case err == nil && after == io.EOF:
		return nil
	case a.text.failed():
		return s.textError(a.text.err)
	case err != nil:
		return formats.Invalid(s.Name, wantWhole, unexpected(err), "%s: the array does not end", s.lineOf(a.at()))
	}
	return formats.Invalid(s.Name, s.wantJSON(), nil, "%s: something follows the array", s.lineOf(a.at()))
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// lineOf returns the line of an offset in the text, by reading the text again.
func (s File) lineOf(offset int64) string {
	text, err := s.text()
	if err != nil {
		return "the text"
	}
	var lines lineCounter
	_, _ = io.CopyN(&lines, text, offset) // the position is for a message only
	return fmt.Sprintf("line %d", 1+lines)
}

// lineOfError returns the line on which the value after an offset ends early or
// has an error.
func (s File) lineOfError(after int64) string {
	text, err := s.text()
	if err != nil {
		return "the text"
	}
	_, _ = io.CopyN(io.Discard, text, after)
	dec := json.NewDecoder(text)
	return s.lineOf(after + offsetOf(dec.Decode(new(json.RawMessage)), dec))
}

type lineCounter int

func (c *lineCounter) Write(p []byte) (int, error) {
	*c += lineCounter(bytes.Count(p, []byte("\n")))
	return len(p), nil
}
