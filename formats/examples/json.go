package examples

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"

	"github.com/rollmill/rollmill/formats"
)

// readJSON yields the records of an array, or of a column map as pandas
// writes it: {"id":{"0":"q1"},"question":{"0":"2+2?"}}. The file is held in
// memory while it is read.
func readJSON(s source) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		data, err := s.document()
		if err != nil {
			yield(line{}, err)
			return
		}
		switch data[0] {
		case '[':
			s.records(data, yield)
		case '{':
			s.columns(data, yield)
		default:
			yield(line{}, formats.Invalid(s.name, wantJSON, nil, "the file begins with %s", brief(data)))
		}
	}
}

const wantJSON = "the json format is an array of records [{…}, …] or a map of columns; for one object a line use --examples-format jsonl"

// document reads the whole file, as standard JSON text without space around.
func (s source) document() ([]byte, error) {
	r := bufio.NewReader(s.reader())
	if err := skipBOM(s.name, r); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", s.name, err)
	}
	if err := checkUTF8(data); err != nil {
		return nil, formats.Invalid(s.name, "save the file as UTF-8", err, "it cannot be read")
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, formats.Invalid(s.name, wantJSON, nil, "the file is empty")
	}
	return standard(data), nil
}

func (s source) records(data []byte, yield func(line, error) bool) {
	dec := json.NewDecoder(bytes.NewReader(data))
	_, err := dec.Token()
	for row := 0; err == nil && dec.More(); row++ {
		var record json.RawMessage
		if err = dec.Decode(&record); err != nil {
			yield(line{}, invalid(s.name, row, err, "%s is not JSON", s.where(data, dec, err)))
			return
		}
		if !yield(line{object: record}, nil) {
			return
		}
	}
	if err == nil {
		_, err = dec.Token()
	}
	if err != nil {
		yield(line{}, formats.Invalid(s.name, wantWhole, unexpected(err), "%s: the array does not end", s.where(data, dec, err)))
		return
	}
	if _, err := dec.Token(); err != io.EOF {
		yield(line{}, formats.Invalid(s.name, wantJSON, nil, "%s: something follows the array", s.where(data, dec, err)))
	}
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (s source) where(data []byte, dec *json.Decoder, err error) string {
	at := dec.InputOffset()
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		at = syntax.Offset
	}
	return lineAt(data, at)
}

// columns yields the rows of a column map, in the order of their indexes.
func (s source) columns(data []byte, yield func(line, error) bool) {
	if !json.Valid(data) {
		yield(line{}, s.notOneObject(data))
		return
	}
	columns, names, err := fields(data)
	if err != nil {
		yield(line{}, formats.Invalid(s.name, wantJSON, err, "it cannot be read"))
		return
	}
	var order []string
	cells := map[string]map[string]json.RawMessage{}
	known := map[string]bool{}
	for _, name := range names {
		values, index, err := fields(columns[name])
		if err != nil {
			yield(line{}, formats.Invalid(s.name, wantJSON, err, "column %q is not a map from row to value", name))
			return
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
		if !yield(line{object: assemble(names, func(name string) json.RawMessage { return cells[name][i] })}, nil) {
			return
		}
	}
}

// byNumber sorts indexes that are numbers by value, and leaves others alone.
func byNumber(a, b string) int {
	x, errX := strconv.ParseInt(a, 10, 64)
	y, errY := strconv.ParseInt(b, 10, 64)
	if errX != nil || errY != nil || x == y {
		return 0
	}
	if x < y {
		return -1
	}
	return 1
}

func (s source) notOneObject(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	var first, second json.RawMessage
	if dec.Decode(&first) == nil && dec.Decode(&second) == nil {
		return formats.Invalid(s.name, "this looks like JSON lines: name the file .jsonl, or use --examples-format jsonl", nil,
			"%s: a second value follows the first", lineAt(data, dec.InputOffset()))
	}
	err := json.Unmarshal(data, &first)
	return formats.Invalid(s.name, wantJSON, err, "%s is not JSON", s.where(data, dec, err))
}

// assemble writes a JSON object of the columns that have a value.
func assemble(names []string, value func(name string) json.RawMessage) json.RawMessage {
	b := []byte{'{'}
	for _, name := range names {
		v := value(name)
		if v == nil {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(quote(b, name), ':'), v...)
	}
	return append(b, '}')
}

// quote appends a JSON string. It differs from json.Marshal in leaving < > &
// as they are written.
func quote(b []byte, s string) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return append(b, `""`...) // a string always encodes
	}
	return append(b, bytes.TrimSuffix(out.Bytes(), []byte("\n"))...)
}
