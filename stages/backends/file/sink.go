package file

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/rollmill/rollmill/formats/art"
	"github.com/rollmill/rollmill/formats/parquet"
)

// sink writes one file. group returns how many rows a group gave.
type sink interface {
	group(b *batch) (int64, error)
	close() error
}

// artLines writes ART's groups without going through structs.
type artLines struct {
	out io.Writer
	buf []byte
}

func (a *artLines) group(b *batch) (int64, error) {
	a.buf = append(art.AppendGroup(a.buf[:0], b.rows), '\n')
	_, err := a.out.Write(a.buf)
	return 1, err
}

func (a *artLines) close() error { return nil }

// lines writes rows as JSON lines.
func lines[T any](rows func(*batch) []T) func(io.Writer) sink {
	return func(out io.Writer) sink { return &jsonLines[T]{out: out, rows: rows} }
}

type jsonLines[T any] struct {
	out  io.Writer
	rows func(*batch) []T
	buf  bytes.Buffer
}

func (l *jsonLines[T]) group(b *batch) (int64, error) {
	l.buf.Reset()
	enc := json.NewEncoder(&l.buf)
	enc.SetEscapeHTML(false)
	rows := l.rows(b)
	for _, r := range rows {
		if err := enc.Encode(r); err != nil {
			return 0, err
		}
	}
	_, err := l.out.Write(l.buf.Bytes())
	return int64(len(rows)), err
}

func (l *jsonLines[T]) close() error { return nil }

// table writes rows as Parquet.
func table[T any](rows func(*batch) []T) func(io.Writer) sink {
	return func(out io.Writer) sink { return &parquetTable[T]{Writer: parquet.NewWriter[T](out), rows: rows} }
}

type parquetTable[T any] struct {
	*parquet.Writer[T]
	rows func(*batch) []T
}

func (p *parquetTable[T]) group(b *batch) (int64, error) {
	rows := p.rows(b)
	if len(rows) == 0 {
		return 0, nil
	}
	return int64(len(rows)), p.Write(rows)
}

func (p *parquetTable[T]) close() error { return p.Close() }

// noted adds a pair to a table's metadata.
func noted(key, value string, open func(io.Writer) sink) func(io.Writer) sink {
	return func(out io.Writer) sink {
		s := open(out)
		s.(interface{ Note(key, value string) }).Note(key, value)
		return s
	}
}
