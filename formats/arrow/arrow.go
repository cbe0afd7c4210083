// Package arrow reads any Parquet file through arrow-go, which it is the one
// home of: foreign files as rows of JSON, and columns for tests that hold our
// own encoding against a second, independent reader.
//
// It is not how datasets are read (formats/parquet is, and is faster). It
// opens nothing: the caller brings the bytes.
package arrow

import (
	"encoding/json"
	"io"
	"iter"
)

// Rows yields each row of a Parquet file of size bytes as a JSON object, its
// columns in order. name is for errors, which are formats.InputErrors with
// file and row when the file is not what it should be.
func Rows(name string, r io.ReaderAt, size int64) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {}
}
