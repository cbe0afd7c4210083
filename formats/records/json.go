package records

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/rollmill/rollmill/formats/excerpt"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/storage/fault"
)

// readJSON yields the records of an array one by one, or of a column map as
// pandas writes it: {"id":{"0":"q1"},"question":{"0":"2+2?"}}. A column map is
// held in memory while it is read, because its first row ends in the last
// column.
func readJSON(s File, yield func(Record) bool) error {
	in := s.Reader()
	if err := skipBOM(s.Name, in); err != nil {
		return err
	}
	t := &text{in: in, line: 1, limit: MaxRecord, tooLong: errLongRecord}
	switch first, more := t.peek(); {
	case !more && t.failed():
		return s.textError(t.err)
	case !more:
		return fault.Invalid(s.Name, s.wantJSON(), nil, "the file is empty")
	case first == '[':
		return s.array(t, yield)
	case first == '{':
		return s.columnMap(t, yield)
	}
	if r, size := utf8.DecodeRune(t.rest); r == utf8.RuneError && size == 1 {
		return s.textError(errNotUTF8)
	}
	return fault.Invalid(s.Name, s.wantJSON(), nil, "the file begins with %q", excerpt.Start(string(bytes.TrimSpace(t.rest)), 40))
}

// maxColumnMap bounds the size of a column map, which is held in memory. Tests reduce it.
var maxColumnMap = 512 << 20

// columnMap reads the one object of a column map. In JSON lines the first
// object ends long before the file does, so no more than that object is held.
func (s File) columnMap(t *text, yield func(Record) bool) error {
	t.limit, t.tooLong = maxColumnMap, errLongColumnMap
	value, line, err := t.next()
	switch {
	case line > 0:
		return fault.Invalid(s.Name, s.wantJSON(), err, "line %d is not JSON", line)
	case err != nil:
		return s.textError(err)
	}
	object := bytes.Clone(value)
	if _, more := t.peek(); more {
		return fault.Invalid(s.Name, "this looks like JSON lines: "+s.asLines(), nil,
			"line %d: a second value follows the first", t.line)
	}
	if t.failed() {
		return s.textError(t.err)
	}
	if s.Documents && !isColumnMap(object) {
		yield(Record{Object: object})
		return nil
	}
	return s.columns(object, yield)
}

// isColumnMap reports whether all members of an object are maps from the same rows, of
// which a single one has numbers.
func isColumnMap(object []byte) bool {
	columns, first, numbers := 0, "", true
	for _, column := range jsontext.Members(object) {
		if column[0] != '{' {
			return false
		}
		rows := ""
		for row := range jsontext.Members(column) {
			_, err := strconv.Atoi(string(row))
			rows, numbers = rows+"\x00"+string(row), numbers && err == nil
		}
		if columns++; columns == 1 {
			first = rows
		}
		if rows != first {
			return false
		}
	}
	return columns != 1 || numbers
}

func (s File) wantJSON() string {
	return "the json format is an array of records [{…}, …] or a map of columns; for one object a line " + s.asLines()
}

func (s File) textError(err error) error {
	switch {
	case errors.Is(err, errNotUTF8):
		return fault.Invalid(s.Name, "save the file as UTF-8", err, "it cannot be read")
	case errors.Is(err, errLongColumnMap):
		return fault.Invalid(s.Name,
			"write it as JSON lines, which are read one by one: in pandas, to_json(orient=\"records\", lines=True)", err,
			"it cannot be read")
	case errors.Is(err, errLongRecord):
		return fault.Invalid(s.Name, wantWhole, err, "it cannot be read")
	}
	return fmt.Errorf("reading %q: %w", s.Name, err)
}

func (s File) array(t *text, yield func(Record) bool) error {
	var values slab
	t.skip(1) // the bracket
	for row := 0; ; row++ {
		switch next, more := t.peek(); {
		case !more && t.failed():
			return s.textError(t.err)
		case !more:
			return fault.Invalid(s.Name, wantWhole, io.ErrUnexpectedEOF, "line %d: the array does not end", t.line)
		case next == ']':
			return s.endOfArray(t)
		case row > 0 && next != ',':
			return invalid(s.Name, row, errNoComma, "line %d is not JSON", t.line)
		case row > 0:
			t.skip(1)
			_, _ = t.peek()
		}
		value, line, err := t.next()
		switch {
		case line > 0:
			return invalid(s.Name, row, err, "line %d is not JSON", line)
		case err != nil:
			return s.textError(err)
		case !yield(Record{Object: values.clone(value)}):
			return nil
		}
	}
}

func (s File) endOfArray(t *text) error {
	t.skip(1)
	if _, more := t.peek(); more {
		return fault.Invalid(s.Name, s.wantJSON(), nil, "line %d: something follows the array", t.line)
	}
	if t.failed() {
		return s.textError(t.err)
	}
	return nil
}

// columns yields the rows of a column map in the order of their indexes.
func (s File) columns(data []byte, yield func(Record) bool) error {
	columns, names, err := Fields(data)
	if err != nil {
		return fault.Invalid(s.Name, s.wantJSON(), err, "it cannot be read")
	}
	var order []string
	cells := map[string]map[string]json.RawMessage{}
	known := map[string]bool{}
	for _, name := range names {
		values, index, err := Fields(columns[name])
		if err != nil {
			return fault.Invalid(s.Name, s.wantJSON(), err, "column %q is not a map from row to value", name)
		}
		cells[name] = values
		for _, i := range index {
			if !known[i] {
				known[i] = true
				order = append(order, i)
			}
		}
	}
	slices.SortStableFunc(order, byNumber)
	for _, i := range order {
		var object jsontext.Object
		for _, name := range names {
			if v, ok := cells[name][i]; ok {
				object = append(object, jsontext.Member{Key: name, Raw: v})
			}
		}
		if !yield(Record{Object: object.Bytes()}) {
			break
		}
	}
	return nil
}

// byNumber compares indexes that are numbers by value, and leaves the order of others unchanged.
func byNumber(a, b string) int {
	x, errX := strconv.ParseInt(a, 10, 64)
	y, errY := strconv.ParseInt(b, 10, 64)
	if errX != nil || errY != nil {
		return 0
	}
	return cmp.Compare(x, y)
}

// Fields splits a JSON object into its values and its keys in order. When a key
// is there twice, the last value is used, as in Python.
func Fields(object json.RawMessage) (map[string]json.RawMessage, []string, error) {
	values, keys := map[string]json.RawMessage{}, []string(nil)
	err := jsontext.Each(object, func(key, v []byte) {
		name := string(key)
		if _, twice := values[name]; !twice {
			keys = append(keys, name)
		}
		values[name] = v
	})
	return values, keys, err
}
