package parquet

import (
	"encoding/json"
	"io"
	"iter"

	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/parquet/layout"
	"github.com/rollmill/rollmill/formats/parquet/reader"
)

// What several packages use of the floors below.
type (
	File          = layout.File
	Reader[T any] = reader.Reader[T]
)

// MaxColumnBytes is layout.MaxColumnBytes.
const MaxColumnBytes = layout.MaxColumnBytes

// Oversize is layout.Oversize.
func Oversize[T any](row *T) (column string, bytes int64) { return layout.Oversize(row) }

// Open is layout.Open.
func Open(src io.ReaderAt, size int64, name string) (*File, error) {
	return layout.Open(src, size, name)
}

// NewReader is reader.NewReader.
func NewReader[T any](f *File, first, rows int64) (*Reader[T], error) {
	return reader.NewReader[T](f, first, rows)
}

// JSON is reader.JSON.
func JSON(name string, src io.ReaderAt, size int64, dropped *int64, unread *[]jsontext.Lost) iter.Seq2[json.RawMessage, error] {
	return reader.JSON(name, src, size, dropped, unread)
}
