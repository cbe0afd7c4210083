package layout

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/storage/fault"
)

const (
	Magic      = "PAR1"
	footerEnd  = 8         // the footer's length and the magic number
	guess      = 512 << 10 // read from the end, because the footer is usually in it
	maxFooter  = 128 << 20 // thousands of row groups need a few megabytes
	maxColumns = 100_000   // and groups of columns
	maxPaths   = 16 << 20  // bytes of the paths of all columns: of a long name, each column of its group has a copy
	MaxIndex   = 16 << 20  // for the pages of one chunk: enough for a million
)

// footerBytes reads the footer, with its length and the magic number.
func footerBytes(src io.ReaderAt, size int64, name string) ([]byte, error) {
	bad := func(text string, args ...any) ([]byte, error) {
		return nil, fault.Invalid(name, "", nil, text, args...)
	}
	if size < int64(len(Magic))+footerEnd {
		return bad("not a Parquet file: it has %d bytes", size)
	}
	end := make([]byte, min(guess, size))
	if err := ReadAt(src, end, size-int64(len(end))); err != nil {
		return nil, err
	}
	if string(end[len(end)-4:]) != Magic {
		return bad("not a Parquet file, or a truncated one: it ends in %q, not %q", end[len(end)-4:], Magic)
	}
	n := int64(binary.LittleEndian.Uint32(end[len(end)-footerEnd:]))
	if n > size-footerEnd-int64(len(Magic)) || n > maxFooter {
		return bad("damaged footer: it claims %d of the file's %d bytes", n, size)
	}
	if n += footerEnd; n <= int64(len(end)) {
		return end[int64(len(end))-n:], nil
	}
	whole := make([]byte, n)
	return whole, ReadAt(src, whole, size-n)
}

// decodeFooter returns the metadata of a file, which must not be trusted before check.
func decodeFooter(footer []byte, name string) (*format.FileMetaData, error) {
	data := footer[:len(footer)-footerEnd]
	if err := checkWidth(schemaLen(data), name); err != nil { // it may be too much to decode
		return nil, err
	}
	if err := weigh(data); err != nil {
		return nil, fault.Invalid(name, "", err, "damaged footer")
	}
	meta := new(format.FileMetaData)
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), data, meta); err != nil {
		return nil, fault.Invalid(name, "", err, "damaged footer")
	}
	return meta, checkWidth(len(meta.Schema), name)
}

// checkWidth refuses a schema with too many elements, of which the root is one.
func checkWidth(elements int, name string) error {
	if elements-1 <= maxColumns {
		return nil
	}
	return fault.Invalid(name, "write fewer columns: one column of JSON text can hold many fields", nil,
		"it has %d columns, with groups of columns; at most %d are read", elements-1, maxColumns)
}

// DigestOf returns the SHA-256 of a footer.
func DigestOf(footer []byte) string {
	sum := sha256.Sum256(footer)
	return hex.EncodeToString(sum[:])
}

// ReadAt fills p from a source; a source that ends early is io.ErrUnexpectedEOF.
func ReadAt(src io.ReaderAt, p []byte, off int64) error {
	n, err := src.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// check compares the metadata with the file and with itself.
func check(meta *format.FileMetaData, leaves []*Node, size int64) error {
	var rows int64
	if len(meta.RowGroups) > math.MaxInt16 {
		return fmt.Errorf("%d row groups", len(meta.RowGroups))
	}
	for g := range meta.RowGroups {
		rowGroup := &meta.RowGroups[g]
		if len(rowGroup.Columns) != len(leaves) {
			return fmt.Errorf("row group %d has %d columns, the schema %d", g, len(rowGroup.Columns), len(leaves))
		}
		if rowGroup.NumRows < 0 || rows+rowGroup.NumRows < rows {
			return fmt.Errorf("row group %d has %d rows", g, rowGroup.NumRows)
		}
		rows += rowGroup.NumRows
		for c := range rowGroup.Columns {
			m := &rowGroup.Columns[c].MetaData
			if l := leaves[c]; !slices.Equal(m.PathInSchema, l.Path) || m.Type != l.Kind {
				return fmt.Errorf("row group %d has the column %q of %s where the schema has %q of %s", g,
					ColumnName(m.PathInSchema), m.Type, ColumnName(l.Path), l.Kind)
			}
			if err := checkChunk(&rowGroup.Columns[c], size); err != nil {
				return fmt.Errorf("row group %d, column %s: %w", g, ColumnName(m.PathInSchema), err)
			}
		}
	}
	if rows != meta.NumRows {
		return fmt.Errorf("it counts %d rows, its row groups %d", meta.NumRows, rows)
	}
	return nil
}

func checkChunk(chunk *format.ColumnChunk, size int64) error {
	m := &chunk.MetaData
	within := func(what string, start, length int64) error {
		if start < 0 || length < 0 || start > size || length > size-start {
			return fmt.Errorf("%s claims bytes %d to %d of %d", what, start, start+length, size)
		}
		return nil
	}
	if chunk.FilePath != "" {
		return fmt.Errorf("it lies in another file, %q", chunk.FilePath)
	}
	if m.NumValues < 0 {
		return fmt.Errorf("it has %d values", m.NumValues)
	}
	if chunk.OffsetIndexLength > MaxIndex {
		return fmt.Errorf("its page index has %d bytes, more than %d", chunk.OffsetIndexLength, MaxIndex)
	}
	start := FirstPage(m.DataPageOffset, m.DictionaryPageOffset)
	if err := within("it", start, m.TotalCompressedSize); err != nil {
		return err
	}
	if err := within("its page index", chunk.OffsetIndexOffset, int64(chunk.OffsetIndexLength)); err != nil {
		return err
	}
	return within("its column index", chunk.ColumnIndexOffset, int64(chunk.ColumnIndexLength))
}

// PagesOf reads the positions of a chunk's pages.
func PagesOf(src io.ReaderAt, chunk *ChunkMeta) ([]format.PageLocation, error) {
	index, err := ReadIndex[format.OffsetIndex](src, chunk.OffsetIndexOffset, chunk.OffsetIndexLength)
	return index.PageLocations, err
}

// ReadIndex reads an index of a chunk's pages.
func ReadIndex[I any](src io.ReaderAt, offset int64, length int32) (index I, err error) {
	data := make([]byte, length)
	if err := ReadAt(src, data, offset); err != nil {
		return index, err
	}
	if err := weigh(data); err != nil {
		return index, BadPage("its index: %v", err)
	}
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), data, &index); err != nil {
		return index, BadPage("its index: %v", err)
	}
	return index, nil
}
