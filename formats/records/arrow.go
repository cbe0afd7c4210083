package records

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/rollmill/rollmill/formats/arrow"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/storage/fault"
)

// readArrow yields the rows of a stream of record batches: a shard of a folder that
// Hugging Face's datasets wrote with save_to_disk.
func readArrow(s File, yield func(Record) bool) error {
	in, row := &observed{in: s.Reader()}, 0
	for object, err := range arrow.Objects(in) {
		if in.err != nil {
			return fmt.Errorf("%q: %w", s.Name, in.err)
		}
		if err != nil {
			return fault.Invalid(s.Name, "a file .arrow is a stream, as save_to_disk of datasets writes it", err, "not readable").
				InRow(int64(row))
		}
		if object = bytes.Clone(object); s.Nulls != nil {
			object = sparse(object, s.Nulls)
		}
		if !yield(Record{Object: object}) {
			return nil
		}
		row++
	}
	return nil
}

// sparse returns a row whose columns are without the null members of structs, and counts them.
func sparse(row []byte, dropped *int64) []byte {
	if !bytes.Contains(row, []byte("null")) {
		return row
	}
	columns := jsontext.ParseObject(row)
	for i := range columns {
		columns[i].Raw = jsontext.DropNulls(columns[i].Raw, dropped)
	}
	return columns.Bytes()
}

// observed keeps the error of a reader, apart from its end.
type observed struct {
	in  io.Reader
	err error
}

func (o *observed) Read(p []byte) (int, error) {
	n, err := o.in.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		o.err = err
	}
	return n, err
}

// readParquet yields one object for each row: columns in their order, lists and
// structs as JSON. Nulls stay null, but see File.Nulls.
func readParquet(s File, yield func(Record) bool) error {
	for object, err := range parquet.JSON(s.Name, s.R, s.Size, s.Nulls, s.Unread) {
		if err != nil || !yield(Record{Object: object}) {
			return err
		}
	}
	return nil
}
