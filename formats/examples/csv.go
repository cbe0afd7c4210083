package examples

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// readCSV yields one object for each record, with every value as a string as
// written: an empty field is "", and the words NA, None and null stay words. A
// record with fewer fields than the header lacks the last columns; one with
// more is an error.
func readCSV(s source) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		buf := s.reader()
		if err := skipBOM(s.name, buf); err != nil {
			yield(line{}, err)
			return
		}
		r := csv.NewReader(buf)
		r.FieldsPerRecord = -1
		names, err := s.header(r)
		if err != nil {
			yield(line{}, err)
			return
		}
		for row := 0; ; row++ {
			record, err := r.Read()
			if errors.Is(err, io.EOF) {
				return
			}
			var l line
			if err == nil {
				l, err = cells(r, names, record)
			}
			if err != nil {
				yield(line{}, s.csvError(row, err))
				return
			}
			if !yield(l, nil) {
				return
			}
		}
	}
}

func (s source) header(r *csv.Reader) ([]string, error) {
	names, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, formats.Invalid(s.name, "the first line names the columns", nil, "the file is empty")
	}
	if err != nil {
		return nil, s.csvError(-1, err)
	}
	seen := map[string]bool{}
	for i, n := range names {
		if n == "" {
			names[i] = fmt.Sprintf("Unnamed: %d", i) // pandas' name for the index that its to_csv writes
		}
		if checkUTF8([]byte(n)) != nil {
			return nil, s.csvError(-1, errNotUTF8)
		}
		if seen[names[i]] {
			return nil, formats.Invalid(s.name, "rename one of them", nil, "two columns are named %q", names[i])
		}
		seen[names[i]] = true
	}
	return names, nil
}

func cells(r *csv.Reader, names, record []string) (line, error) {
	number, _ := r.FieldPos(0)
	if len(record) > len(names) {
		return line{}, fmt.Errorf("line %d: %d fields, but the header has %d: %w", number, len(record), len(names), csv.ErrFieldCount)
	}
	values := map[string]json.RawMessage{}
	for i, text := range record {
		if err := checkUTF8([]byte(text)); err != nil {
			return line{}, fmt.Errorf("line %d, column %q: %w", number, names[i], err)
		}
		values[names[i]] = jsontext.AppendString(nil, text)
	}
	object := assemble(names, func(name string) json.RawMessage { return values[name] })
	return line{object: object, number: number, short: len(record) < len(names)}, nil
}

func (s source) csvError(row int, err error) error {
	parse := (*csv.ParseError)(nil)
	switch {
	case errors.Is(err, errNotUTF8):
		e := formats.Invalid(s.name, "save the file as UTF-8", err, "it cannot be read")
		e.Row = int64(row)
		return e
	case errors.Is(err, csv.ErrFieldCount), errors.As(err, &parse):
		return invalid(s.name, row, err, "it is not CSV")
	}
	return fmt.Errorf("reading %q: %w", s.name, err)
}
