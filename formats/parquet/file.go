package parquet

import (
	"errors"
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
	src    io.ReaderAt
	size   int64
	meta   *fileMeta
	root   *node
	leaves []*node
	ahead  int64 // bytes to fetch at once; 0: as they come
	budget int64 // bytes that a reader may hold

	footerDigest string
	bare         *File
}

// codecs are those whose pages can be checked before they are decompressed. LZ4
// is not among them: parquet-go 0.32 decodes LZ4_RAW pages that shrank below a
// third of their size to garbage.
var codecs = []format.CompressionCodec{format.Uncompressed, format.Snappy, format.Zstd}

// Open reads a file's footer. Errors use the name for the file. Any error in
// the bytes is a fault.Input; errors of src are returned unchanged.
func Open(src io.ReaderAt, size int64, name string) (*File, error) {
	return open(src, size, name, codecs)
}

// At returns the same file, read from another source.
func (f *File) At(src io.ReaderAt) *File {
	same := *f
	same.src = src
	return &same
}

// open opens a file whose pages are compressed with some of the codecs.
func open(src io.ReaderAt, size int64, name string, codecs []format.CompressionCodec) (*File, error) {
	footer, err := footerBytes(src, size, name)
	if err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, fault.Invalid(name, "", err, "truncated")
		}
		return nil, err
	}
	f := &File{name: name, src: src, size: size, footerDigest: digestOf(footer), budget: defaultBudget(size)}
	if err := f.describe(footer, codecs); err != nil {
		return nil, err
	}
	return f, nil
}

// decoding is held while a footer is decoded: that takes ten times its bytes, and
// many files are opened at once.
var decoding sync.Mutex

// describe sets what the footer says, once it is checked.
func (f *File) describe(footer []byte, codecs []format.CompressionCodec) error {
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
	f.meta = keep(meta)
	if f.root, f.leaves, err = newSchema(f.meta.Schema); err == nil {
		err = check(meta, f.leaves, f.size)
	}
	if err != nil {
		return fault.Invalid(f.name, "", err, "damaged footer")
	}
	for g := range meta.RowGroups {
		for c := range meta.RowGroups[g].Columns {
			m := &meta.RowGroups[g].Columns[c].MetaData
			if !slices.Contains(codecs, m.Codec) {
				return fault.Invalid(f.name,
					"write it with zstd, snappy or no compression; a task file (--examples) may have gzip, brotli or "+
						"lz4_raw, too", nil,
					"column %s is compressed with %s, which is not read here", columnName(m.PathInSchema), m.Codec)
			}
		}
	}
	bare := &File{name: f.name, meta: &fileMeta{RowGroups: make([]rowGroupMeta, len(meta.RowGroups))}}
	for g := range meta.RowGroups {
		bare.meta.RowGroups[g].NumRows = meta.RowGroups[g].NumRows
	}
	bare.bare, f.bare = bare, bare
	return nil
}

// Bare returns what a Writer keeps of the file until pages of it are written that
// wait: where they are, for errors, and not its metadata, which is a MB of memory.
func (f *File) Bare() *File { return f.bare }

// Name returns the name of the file in errors.
func (f *File) Name() string { return f.name }

// Rows returns the number of rows.
func (f *File) Rows() int64 { return f.meta.NumRows }

// FooterDigest returns the SHA-256 of the footer: see Writer.FooterDigest.
func (f *File) FooterDigest() string { return f.footerDigest }

// Noted returns the value of a key in the footer's metadata, "" for none.
func (f *File) Noted(key string) string {
	for _, kv := range f.meta.KeyValueMetadata {
		if kv.Key == key {
			return kv.Value
		}
	}
	return ""
}

// RowGroups returns the number of rows of each row group.
func (f *File) RowGroups() []int64 {
	out := make([]int64, len(f.meta.RowGroups))
	for i := range out {
		out[i] = f.meta.RowGroups[i].NumRows
	}
	return out
}

// Names returns the paths of columns and of groups of columns, without the
// levels of lists: "messages" and "messages.content".
func (f *File) Names() []string {
	var out []string
	var walk func(n *node, prefix string)
	walk = func(n *node, prefix string) {
		if _, element := n.element(); element != nil {
			n = element
		}
		for _, c := range n.children {
			out = append(out, prefix+c.name)
			walk(c, prefix+c.name+".")
		}
	}
	walk(f.root, "")
	return out
}

// Columns returns the paths of the leaves as users write them:
// "messages.content".
func (f *File) Columns() []string {
	var out []string
	for _, n := range f.leaves {
		out = append(out, columnName(n.path))
	}
	return out
}
