// Package arrow reads any Parquet file through arrow-go, which it is the one
// home of: foreign files as rows of JSON, and our own files through a second,
// independent reader for tests. It also speaks with reward programs in streams
// of record batches: AskWriter, AnswerReader.
//
// It is not how datasets are read (formats/parquet is, and is faster), and no
// arrow-go type leaves it. It opens nothing: the caller brings the bytes.
//
// To support one more column type: add a case to appendValue.
package arrow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/rollmill/rollmill/formats"
	rollparquet "github.com/rollmill/rollmill/formats/parquet"
)

// batchRows is how many rows are decoded at a time.
const batchRows = 256

// Rows yields each row of a Parquet file of size bytes as a JSON object, its
// columns in order; of named columns only those. Nulls are null, and so are
// NaN and infinities; lists, structs and maps are JSON; decimals are numbers
// with the digits they were written with; dates and times are ISO 8601 texts;
// binary that is not text is base64.
//
// name is for errors, which are formats.InputErrors with file and row when the
// bytes are not what they should be; errors of r come back wrapped. A damaged
// file costs no more than about 1 GiB of memory before it is refused.
func Rows(name string, r io.ReaderAt, size int64, columns ...string) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		s := &scan{name: name, src: &source{ReaderAt: r}}
		err := s.guard(func() error { return s.open(io.NewSectionReader(s.src, 0, size), columns) })
		defer s.close()
		for err == nil {
			var objects []json.RawMessage
			err = s.guard(func() (err error) { objects, err = s.next(); return })
			for _, o := range objects {
				if !yield(o, nil) {
					return
				}
			}
			if err == nil && objects == nil {
				return
			}
		}
		yield(nil, err)
	}
}

// scan is one pass over a file.
type scan struct {
	name    string
	src     *source
	records pqarrow.RecordReader
	rows    int64 // that the footer promises
	read    int64
}

func (s *scan) open(src *io.SectionReader, columns []string) error {
	// arrow-go recurses as deep as the schema nests, and a stack that overflows
	// cannot be recovered.
	if err := rollparquet.CheckFooter(src, src.Size(), s.name); err != nil {
		return err
	}
	mem := newLimited()
	props := parquet.NewReaderProperties(mem)
	props.BufferedStreamEnabled = true
	f, err := file.NewParquetReader(src, file.WithReadProps(props))
	if err != nil {
		return err
	}
	if err := preflight(f); err != nil {
		return err
	}
	// Not parallel: a panic over damaged bytes in another goroutine than ours
	// could not be recovered.
	in, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{BatchSize: batchRows}, mem)
	if err != nil {
		return err
	}
	s.rows = f.NumRows()
	if s.rows == 0 {
		return nil
	}
	leaves, err := leavesOf(f, columns)
	if err != nil {
		return err
	}
	s.records, err = in.GetRecordReader(context.Background(), leaves, nil)
	return err
}

// preflight opens every column chunk. arrow-go opens those of structs in
// goroutines of its own, where a panic could not be recovered.
func preflight(f *file.Reader) error {
	for g := range f.NumRowGroups() {
		group := f.RowGroup(g)
		for c := range group.NumColumns() {
			if _, err := group.GetColumnPageReader(c); err != nil {
				return fmt.Errorf("row group %d, column %q: %w", g, f.MetaData().Schema.Column(c).Path(), err)
			}
		}
	}
	return nil
}

// leavesOf returns the leaf columns under the named columns; nil for all.
func leavesOf(f *file.Reader, columns []string) ([]int, error) {
	if len(columns) == 0 {
		return nil, nil
	}
	var leaves []int
	found := map[string]bool{}
	for i := range f.MetaData().Schema.NumColumns() {
		top := f.MetaData().Schema.Column(i).ColumnPath()[0]
		if slices.Contains(columns, top) {
			leaves = append(leaves, i)
			found[top] = true
		}
	}
	for _, c := range columns {
		if !found[c] {
			return nil, fmt.Errorf("there is no column %q", c)
		}
	}
	return leaves, nil
}

// next returns the rows of the next batch, nil after the last.
func (s *scan) next() ([]json.RawMessage, error) {
	if s.records == nil || !s.records.Next() {
		if s.records != nil && s.records.Err() != nil && s.records.Err() != io.EOF {
			return nil, s.records.Err()
		}
		if s.read != s.rows {
			return nil, fmt.Errorf("the file ends after %d rows of the %d that its footer promises", s.read, s.rows)
		}
		return nil, nil
	}
	batch := s.records.RecordBatch()
	if batch.NumRows() == 0 {
		return nil, fmt.Errorf("a batch of no rows after row %d of %d", s.read, s.rows)
	}
	return s.objects(batch)
}

func (s *scan) objects(batch arrow.RecordBatch) ([]json.RawMessage, error) {
	out := make([]json.RawMessage, 0, batch.NumRows())
	fields := batch.Schema().Fields()
	for i := range int(batch.NumRows()) {
		b := []byte{'{'}
		for c, f := range fields {
			if c > 0 {
				b = append(b, ',')
			}
			b = append(quote(b, f.Name), ':')
			var err error
			if b, err = appendValue(b, batch.Column(c), i); err != nil {
				return out, fmt.Errorf("column %q: %w", f.Name, err)
			}
		}
		out = append(out, append(b, '}'))
		s.read++
	}
	return out, nil
}

func (s *scan) close() {
	if s.records != nil {
		_ = s.guard(func() error { s.records.Release(); return nil })
	}
}

// source remembers that the bytes could not be had, which is no fault of theirs.
type source struct {
	io.ReaderAt
	err error
}

func (s *source) ReadAt(p []byte, off int64) (int, error) {
	n, err := s.ReaderAt.ReadAt(p, off)
	if err != nil && !errors.Is(err, io.EOF) && s.err == nil {
		s.err = err
	}
	return n, err
}

// guard runs a step. Its errors, and panics of arrow-go over damaged bytes,
// become errors about the file at the row that was reached.
func (s *scan) guard(step func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
		switch {
		case s.src.err != nil:
			err = fmt.Errorf("reading %q: %w", s.name, s.src.err)
		case err != nil:
			invalid := formats.Invalid(s.name, "the file may be cut short or damaged: fetch it again", err, "it cannot be read as Parquet")
			if s.read > 0 {
				invalid.Row = s.read
			}
			err = invalid
		}
	}()
	return step()
}
