package dataset

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/rollmill/rollmill/formats/parquet/reader"
)

// ReadAll reads a range into memory; use it for tables that are known to be small.
func ReadAll[T any](ctx context.Context, d *Dataset, table string, r Range) ([]T, error) {
	rd, err := NewReader[T](ctx, d, table, r)
	if err != nil {
		return nil, err
	}
	defer rd.Close()
	return reader.ReadAll(rd.Read, r.Rows)
}

// Groups calls f with each sequence of adjacent rows for which key returns the
// same string. The slice is reused between calls.
func Groups[T any](ctx context.Context, d *Dataset, table string, r Range, key func(*T) string,
	f func(first int64, rows []T) error) error {
	first := r.First
	return GroupsOf(each[T](ctx, d, table, r, 64), key, func(rows []T) error {
		err := f(first, rows)
		first += int64(len(rows))
		return err
	})
}

// GroupsOf is Groups for rows that are read already.
func GroupsOf[T any](rows iter.Seq2[*T, error], key func(*T) string, f func([]T) error) error {
	var group []T
	var name string
	for row, err := range rows {
		if err != nil {
			return err
		}
		k := key(row)
		if len(group) > 0 && k != name {
			if err := f(group); err != nil {
				return err
			}
			group = group[:0]
		}
		name, group = k, append(group, *row)
	}
	if len(group) == 0 {
		return nil
	}
	return f(group)
}

// Each yields the rows of a range of a table ("": the dataset's own rows), in
// order. A row is valid until the next; an error is the last that is yielded.
func Each[T any](ctx context.Context, d *Dataset, table string, r Range) iter.Seq2[*T, error] {
	return each[T](ctx, d, table, r, 1024)
}

// each is Each with the number of rows that are decoded at once.
func each[T any](ctx context.Context, d *Dataset, table string, r Range, rows int) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		rd, err := NewReader[T](ctx, d, table, r)
		if err != nil {
			yield(nil, err)
			return
		}
		rd.Each(rows)(yield)
	}
}

// Each yields the rows that are left, as the function Each does, and closes the reader.
// So many rows are decoded at once.
func (r *Reader[T]) Each(rows int) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		defer r.Close()
		buf := make([]T, rows)
		for {
			n, err := r.Read(buf)
			for i := range buf[:n] {
				if !yield(&buf[i], nil) {
					return
				}
			}
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
	}
}
