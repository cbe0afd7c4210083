package parquet

import (
	"fmt"
	"io"

	pq "github.com/parquet-go/parquet-go"

	"github.com/rollmill/rollmill/formats"
)

// File is an open Parquet file. It is safe for concurrent use.
type File struct {
	name string
	src  io.ReaderAt
	size int64
	f    *pq.File
}

// Open reads a file's footer. The name is what errors call it. Whatever is
// wrong with the bytes is a formats.InputError.
func Open(src io.ReaderAt, size int64, name string) (f *File, err error) {
	defer guard(name, &err)
	pf, err := pq.OpenFile(src, size, pq.SkipPageIndex(true), pq.SkipBloomFilters(true), pq.ReadBufferSize(16<<10))
	if err != nil {
		return nil, formats.Invalid(name, "", err, "not a readable Parquet file")
	}
	return &File{name: name, src: src, size: size, f: pf}, nil
}

// Rows is the number of rows.
func (f *File) Rows() int64 { return f.f.NumRows() }

// RowGroups lists the rows of each row group.
func (f *File) RowGroups() []int64 {
	var out []int64
	for _, g := range f.f.RowGroups() {
		out = append(out, g.NumRows())
	}
	return out
}

// guard turns a panic of parquet-go over bad bytes into an error.
func guard(name string, err *error) {
	if r := recover(); r != nil {
		*err = formats.Invalid(name, "", nil, "damaged Parquet: %s", fmt.Sprint(r))
	}
}
