package layout

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/storage/fault"
)

// File is an open Parquet file. It is safe for concurrent use.
type File struct {
	name   string
	Src    io.ReaderAt
	size   int64
	Meta   *fileMeta
	Root   *Node
	Leaves []*Node

	// Ahead makes readers fetch what they need in a few large requests before they need it,
	// for an object store. They hold at most so many bytes of the file, or a request for each
	// column if these are more. 0: as they need it. Set it before NewReader.
	Ahead int64

	Budget int64 // bytes that a reader may hold

	footerDigest string
	bare         *File
}

// createdBy is the name of this program in the footer of a file.
const createdBy = "rollmill"

// codecs are those whose pages can be checked before they are decompressed.
var codecs = []format.CompressionCodec{format.Uncompressed, format.Snappy, format.Zstd, format.Gzip, format.Brotli, format.Lz4Raw}

// Open reads a file's footer. Errors use the name for the file. Any error in
// the bytes is a fault.Error; errors of src are returned unchanged.
func Open(src io.ReaderAt, size int64, name string) (*File, error) {
	footer, err := footerBytes(src, size, name)
	if err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, fault.Invalid(name, "", err, "truncated")
		}
		return nil, err
	}
	f := &File{name: name, Src: src, size: size, footerDigest: DigestOf(footer), Budget: defaultBudget(size)}
	if err := f.Describe(footer); err != nil {
		return nil, err
	}
	return f, nil
}

// At returns the same file, read from another source.
func (f *File) At(src io.ReaderAt) *File {
	same := *f
	same.Src = src
	return &same
}

// decoding is held while a footer is decoded: that takes ten times its bytes, and
// many files are opened at once.
var decoding sync.Mutex

// Describe sets what the footer says, once it is checked.
func (f *File) Describe(footer []byte) error {
	decoding.Lock()
	defer decoding.Unlock()
	meta, err := decodeFooter(footer, f.name)
	if err != nil {
		return err
	}
	if strings.HasPrefix(meta.CreatedBy, createdBy+" ") { // files of earlier versions have another order
		if err := heavyFirst(meta); err != nil {
			return fault.Invalid(f.name, "", err, "damaged footer")
		}
	}
	f.Meta = keep(meta)
	if f.Root, f.Leaves, err = NewSchema(f.Meta.Schema); err == nil {
		err = check(meta, f.Leaves, f.size)
	}
	if err != nil {
		return fault.Invalid(f.name, "", err, "damaged footer")
	}
	for g := range meta.RowGroups {
		for c := range meta.RowGroups[g].Columns {
			m := &meta.RowGroups[g].Columns[c].MetaData
			if !slices.Contains(codecs, m.Codec) {
				return fault.Invalid(f.name,
					"write it with zstd, snappy, gzip, brotli, lz4_raw or no compression", nil,
					"column %s is compressed with %s, which is not read here", ColumnName(m.PathInSchema), m.Codec)
			}
		}
	}
	bare := &File{name: f.name, Meta: &fileMeta{RowGroups: make([]rowGroupMeta, len(meta.RowGroups))}}
	for g := range meta.RowGroups {
		bare.Meta.RowGroups[g].NumRows = meta.RowGroups[g].NumRows
	}
	bare.bare, f.bare = bare, bare
	return nil
}

// WithoutMetadata returns what a Writer keeps of the file until pages of it are written that
// wait: where they are, for errors, and not its metadata, which is a MB of memory.
func (f *File) WithoutMetadata() *File { return f.bare }

// Name returns the name of the file in errors.
func (f *File) Name() string { return f.name }

func (f *File) Rows() int64 { return f.Meta.NumRows }

// FooterDigest returns the SHA-256 of the footer: see Writer.FooterDigest.
func (f *File) FooterDigest() string { return f.footerDigest }

// KeyValue returns the value of a key in the footer's metadata, "" for none.
func (f *File) KeyValue(key string) string {
	for _, kv := range f.Meta.KeyValueMetadata {
		if kv.Key == key {
			return kv.Value
		}
	}
	return ""
}

// Names returns the names of the columns of a row, and of its groups of columns.
func (f *File) Names() (out []string) {
	for _, c := range f.Root.Children {
		out = append(out, c.Name)
	}
	return out
}

// Columns returns the paths of the leaves as users write them: "messages.content".
func (f *File) Columns() []string {
	var out []string
	for _, n := range f.Leaves {
		out = append(out, ColumnName(n.Path))
	}
	return out
}

// Fail adds the place to an error. An error of the source is not the file's
// fault and is returned unchanged.
func (f *File) Fail(column string, rowGroup int, row int64, err error) error {
	var m *misfit
	if errors.As(err, &m) {
		return fault.Invalid(f.name, "write a value that the column holds", nil, "column %s: %s", column, m).
			InRow(row + int64(m.row))
	}
	truncated := errors.Is(err, io.ErrUnexpectedEOF)
	if !errors.Is(err, errPage) && !errors.Is(err, errThrift) && !truncated {
		return fmt.Errorf("read %q: %w", f.name, err)
	}
	what := "unreadable"
	if column != "" {
		what = fmt.Sprintf("column %s, row group %d", column, rowGroup)
	}
	return fault.Invalid(f.name, "", err, "%s", what).InRow(row)
}
