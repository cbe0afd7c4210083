package importers

import (
	"fmt"
	"io"
	"iter"

	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/records"
	"github.com/rollmill/rollmill/storage/fault"
)

// Rows cuts a file of rows into one record a row, a JSON object: Parquet, JSON
// lines, JSON arrays and CSV, by the extension of the name. Structs of Parquet and Arrow
// are without their nulls; those of JSON stay, and Nulls says that datasets added them.
func Rows(f File) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		var dropped, before int64
		var unread []jsontext.Lost
		file := records.File{Name: f.Name, R: f.R, Size: f.Size, Nulls: &dropped, Unread: &unread, Documents: true}
		rows, err := file.Read("")
		if err != nil {
			yield(Record{}, err)
			return
		}
		nulls := addedNulls(file)
		var n int64
		for row, err := range rows {
			if err != nil {
				yield(Record{}, err)
				return
			}
			for piece, lost := range f.Pieces(row.Object) {
				r := Record{Data: piece, Row: n, Line: row.Line, Nulls: nulls, Options: f.Options, Dropped: dropped - before}
				r.LoseAll(unread)
				for _, member := range lost {
					r.Lose(member, "it is beside the records of a document, and too long to be repeated in each")
				}
				if before = dropped; !yield(r, nil) {
					return
				}
				n++
			}
		}
	}
}

// MaxDocument bounds the size of a file that is one record.
const MaxDocument = 512 << 20

// Document makes the whole file one record.
func Document(f File) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		data, err := io.ReadAll(io.LimitReader(records.File{Name: f.Name, R: f.R, Size: f.Size,
			Buffer: int(min(f.Size+1, 1<<20))}.Reader(), MaxDocument+1))
		switch {
		case err != nil:
			yield(Record{}, fmt.Errorf("reading %q: %w", f.Name, err))
			return
		case len(data) > MaxDocument:
			yield(Record{}, fault.Invalid(f.Name, "split it, one document a file", nil,
				"the document is longer than %d MiB",
				MaxDocument>>20))
			return
		}
		yield(Record{Data: data, Options: f.Options}, nil)
	}
}

// ByExtension cuts files of some extensions in their own way, and others as
// otherwise does.
func ByExtension(otherwise func(File) iter.Seq2[Record, error],
	own map[string]func(File) iter.Seq2[Record, error]) func(File) iter.Seq2[Record, error] {
	return func(f File) iter.Seq2[Record, error] {
		if cut, ok := own[records.Extension(f.Name)]; ok {
			return cut(f)
		}
		return otherwise(f)
	}
}
