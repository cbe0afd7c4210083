package importers

import (
	"fmt"
	"io"
	"iter"

	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/records"
	"github.com/rollmill/rollmill/storage/fault"
)

// Cut cuts a file into records, until yield returns false.
type Cut func(f File, yield func(Record) bool) error

// All yields the records of a file. An error ends them: the file cannot be read.
func (c Cut) All(f File) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		more := true
		err := c(f, func(r Record) bool {
			more = yield(r, nil)
			return more
		})
		if err != nil && more {
			yield(Record{}, err)
		}
	}
}

// Rows cuts a file of rows into one record a row, a JSON object: Parquet, JSON
// lines, JSON arrays and CSV, by the extension of the name. Structs of Parquet and Arrow
// are without their nulls; those of JSON stay, and Nulls says that datasets added them.
var Rows Cut = func(f File, yield func(Record) bool) error {
	var dropped, before int64
	var unread []jsontext.Lost
	file := records.File{Name: f.Name, R: f.R, Size: f.Size, Nulls: &dropped, Unread: &unread, Documents: true}
	nulls := addedNulls(file)
	var n int64
	for row, err := range file.Read("") {
		if err != nil {
			return err
		}
		for piece, lost := range f.Pieces(row.Object) {
			r := Record{Data: piece, Row: n, Line: row.Line, Nulls: nulls, Options: f.Options, Dropped: dropped - before}
			r.LoseAll(unread)
			for _, member := range lost {
				r.Lose(member, "it is beside the records of a document, and too long to be repeated in each")
			}
			if before = dropped; !yield(r) {
				return nil
			}
			n++
		}
	}
	return nil
}

// MaxDocument bounds the size of a file that is one record.
const MaxDocument = 512 << 20

// Document makes the whole file one record.
func Document(f File, yield func(Record) bool) error {
	data, err := ReadDocument(f)
	if err == nil {
		yield(Record{Data: data, Options: f.Options})
	}
	return err
}

func ReadDocument(f File) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(records.File{Name: f.Name, R: f.R, Size: f.Size,
		Buffer: int(min(f.Size+1, 1<<20))}.Reader(), MaxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", f.Name, err)
	}
	if len(data) > MaxDocument {
		return nil, fault.Invalid(f.Name, "split it, one document a file", nil, "the document is longer than %d MiB", MaxDocument>>20)
	}
	return data, nil
}

// ByExtension cuts files of some extensions in their own way, and others as otherwise does.
func ByExtension(otherwise Cut, own map[string]Cut) Cut {
	return func(f File, yield func(Record) bool) error {
		if cut, ok := own[records.Extension(f.Name)]; ok {
			return cut(f, yield)
		}
		return otherwise(f, yield)
	}
}
