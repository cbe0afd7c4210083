package dataset

import (
	"bytes"
	"errors"
	"io"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/parquet"
)

// readRows returns what makes readers of rows of a file, without the payload if
// head is true, and without the columns named. When a newer minor version wrote
// columns for which T has no field, and T keeps such columns, it also makes a
// reader of these.
func readRows[T any](head bool, without []string) partReader[T] {
	read := parquet.NewReader[T]
	if head {
		read = parquet.NewHeadReader[T]
	}
	return rowsBy(func(f *parquet.File, first, rows int64) (*parquet.Reader[T], error) {
		r, err := read(f, first, rows)
		if err == nil && len(without) > 0 {
			r.LeaveOut(without...)
		}
		return r, err
	}, head)
}

// rowsBy is readRows with a function that makes a reader of the known columns.
func rowsBy[T any](read func(*parquet.File, int64, int64) (*parquet.Reader[T], error), head bool) partReader[T] {
	return func(f *parquet.File, first, rows int64) (rowReader[T], *parquet.UnknownReader, error) {
		r, err := read(f, first, rows)
		if err != nil {
			return nil, nil, err
		}
		if _, carries := any((*T)(nil)).(formats.Carrier); !carries {
			return r, nil, nil
		}
		unknown, err := r.Unknown()
		if err != nil || unknown == nil {
			return r, nil, err
		}
		more, err := unknown.NewReader(f, first, rows, head)
		return r, more, err
	}
}

// readUnknown sets the unknown columns of rows, which are the next ones of
// more.
func readUnknown[T any](more *parquet.UnknownReader, rows []T) error {
	unknown := make([]formats.Unknown, len(rows))
	if _, err := more.Read(unknown); errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	} else if err != nil {
		return err
	}
	for i := range rows {
		row := any(&rows[i]).(formats.Carrier)
		if !more.Head() && !unknown[i].Fits(row) {
			return formats.Invalid(more.Name(), "", nil,
				"the lists of a row have other lengths in some columns than in others")
		}
		row.SetUnknown(&unknown[i])
	}
	return nil
}

// unknownOf returns the unknown columns that rows have, nil if none.
func unknownOf[T any](rows []T) (found *parquet.Unknown, err error) {
	for i := range rows {
		row, carries := any(&rows[i]).(formats.Carrier)
		if !carries {
			return nil, nil
		}
		u := row.Unknown()
		if u == nil {
			continue
		}
		its := u.Columns.(*parquet.Unknown)
		if found != nil && !found.Same(its) {
			return nil, formats.Invalid("", "write them with the newest of the versions that made them", nil,
				"rows of one group have different columns that this version does not know")
		}
		found = its
	}
	return found, nil
}

// complete adds null unknown columns to rows that lack them.
func complete[T any](rows []T, unknown *parquet.Unknown) {
	if unknown == nil {
		return
	}
	for i := range rows {
		if row := any(&rows[i]).(formats.Carrier); row.Unknown() == nil {
			row.SetUnknown(formats.NewUnknown(unknown, row))
		}
	}
}

// encodeRows returns a file of rows; note may add to its footer.
func encodeRows[T any](rows []T, note func(*parquet.Writer[T])) ([]byte, error) {
	unknown, err := unknownOf(rows)
	if err != nil {
		return nil, err
	}
	complete(rows, unknown)
	var buf bytes.Buffer
	w := parquet.NewWriter[T](&buf)
	if unknown != nil {
		if w, err = parquet.NewWriterWith[T](&buf, unknown); err != nil {
			return nil, err
		}
	}
	if err := w.Write(rows); err != nil {
		return nil, err
	}
	note(w)
	if err := w.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}
