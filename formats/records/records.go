// Package records cuts files of rows into records: JSON lines, JSON, CSV and
// Parquet, each row as a JSON object. It does not open files; the caller passes
// the bytes.
//
// A text may be compressed: x.jsonl.gz and x.csv.zst are read as x.jsonl and x.csv.
//
// Rows are read one by one, whatever their number, except those of a column map
// as pandas writes it, which is read into memory (see readJSON).
//
// To add a format: write a function like readCSV that yields rows as JSON
// objects, and add a line to readers and to extensions.
package records

import (
	"bufio"
	"cmp"
	"encoding/json"
	"io"
	"iter"

	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/storage/fault"
)

// File is a file to read.
type File struct {
	Name string // its path or URI, for messages; the extension selects the format
	R    io.ReaderAt
	Size int64

	Flag  string // the flag that sets the format, for hints; "" for none
	Nulls *int64 // leave out the null members of structs of Parquet and Arrow, which have the keys of all rows, and count them
	// leave out the columns of Parquet whose type is not supported, and name them, instead of an error
	Unread *[]jsontext.Lost
	// an object of JSON that is no column map is a row, instead of an error
	Documents bool
	Buffer    int // how many bytes are read at once, since each read may be a request to an object store; default 1 MiB
}

// Reader returns a buffered reader of the whole file, inflated if its name ends in .gz or .zst.
func (s File) Reader() *bufio.Reader {
	size := cmp.Or(s.Buffer, 1<<20)
	raw := bufio.NewReaderSize(io.NewSectionReader(s.R, 0, s.Size), size)
	return bufio.NewReaderSize(inflate(s.Name, raw), size) // raw itself when it is not compressed
}

// Record is one row.
type Record struct {
	Object json.RawMessage // a JSON object, not checked yet: see Fields; it may have Python's NaN and infinities
	Line   int             // in the file, from 1; 0 when the format has none
	Short  bool            // it has fewer fields than the header of its CSV
}

// Read yields the rows of a file in a format; "" selects it by the name's
// extension. A file that cannot be read as a whole is a fault.Error with
// file, row and cause, and ends the rows; read errors are wrapped.
func (s File) Read(format string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		read, err := s.reader(format)
		if err == nil {
			err = read(s, func(r Record) bool { return yield(r, nil) })
		}
		if err != nil {
			yield(Record{}, err)
		}
	}
}

// asLines is a hint to read a file as JSON lines.
func (s File) asLines() string {
	if s.Flag != "" {
		return "name the file .jsonl, or use " + s.Flag + " jsonl"
	}
	return "name the file .jsonl"
}

const wantWhole = "look there: the file may be cut short, or a quote or bracket left open"

func invalid(name string, row int, err error, format string, args ...any) error {
	return fault.Invalid(name, wantWhole, err, format, args...).InRow(int64(row))
}
