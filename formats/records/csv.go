package records

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"

	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/storage/fault"
)

// readCSV yields one object for each record, with every value as a string as
// written, line ends too: an empty field is "", and the words NA, None and null stay words. A
// record with fewer fields than the header lacks the last columns; one with
// more is an error.
func readCSV(s File, yield func(Record) bool) error {
	buf := s.Reader()
	if err := skipBOM(s.Name, buf); err != nil {
		return err
	}
	r := csv.NewReader(&lineEnds{in: buf})
	r.FieldsPerRecord = -1
	names, err := s.header(r)
	if err != nil {
		return err
	}
	for row := 0; ; row++ {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		var l Record
		if err == nil {
			l, err = cells(r, names, record)
		}
		if err != nil {
			return s.csvError(row, err)
		}
		if !yield(l) {
			return nil
		}
	}
}

func (s File) header(r *csv.Reader) ([]string, error) {
	names, err := r.Read()
	for i := range names {
		names[i] = asWritten(names[i])
	}
	if errors.Is(err, io.EOF) {
		return nil, fault.Invalid(s.Name, "the first line names the columns", nil, "the file is empty")
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
			return nil, fault.Invalid(s.Name, "rename one of them", nil, "two columns are named %q", names[i])
		}
		seen[names[i]] = true
	}
	return names, nil
}

func cells(r *csv.Reader, names, record []string) (Record, error) {
	number, _ := r.FieldPos(0)
	if len(record) > len(names) {
		return Record{}, fmt.Errorf("line %d: %d fields, but the header has %d: %w", number, len(record), len(names),
			csv.ErrFieldCount)
	}
	object := make(jsontext.Object, len(record))
	for i, text := range record {
		text = asWritten(text)
		if err := checkUTF8([]byte(text)); err != nil {
			return Record{}, fmt.Errorf("line %d, column %q: %w", number, names[i], err)
		}
		object[i] = jsontext.Member{Key: names[i], Raw: jsontext.AppendString(nil, text)}
	}
	return Record{Object: object.Bytes(), Line: number, Short: len(record) < len(names)}, nil
}

func (s File) csvError(row int, err error) error {
	parse := (*csv.ParseError)(nil)
	switch {
	case errors.Is(err, errNotUTF8):
		return fault.Invalid(s.Name, "save the file as UTF-8", err, "it cannot be read").InRow(int64(row))
	case errors.Is(err, csv.ErrFieldCount), errors.As(err, &parse):
		return invalid(s.Name, row, err, "it is not CSV")
	}
	return fmt.Errorf("reading %q: %w", s.Name, err)
}
