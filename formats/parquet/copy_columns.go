package parquet

import (
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Common is a file, and which of its columns rows of another kind have too: those
// of the same name and type, or those of them that are named.
type Common struct {
	f  *File
	at []int // by column of the rows: the file's, -1 for none
}

// NewCommon compares the columns of T with those of a file. With names, only columns
// of these names, at the top, are in common.
func NewCommon[T any](f *File, names ...string) (*Common, error) {
	l := layoutOf[T]()
	root, leaves, err := newSchema(l.meta.Schema)
	if err != nil {
		return nil, err
	}
	c := &Common{f: f}
	for _, n := range leaves {
		at := -1
		if len(names) == 0 || slices.Contains(names, n.path[0]) {
			at = f.root.same(root, n.path)
		}
		c.at = append(c.at, at)
	}
	return c, nil
}

// same returns the leaf at a path below n, if all on the path is as below o; else -1.
func (n *node) same(o *node, path []string) int {
	for _, name := range path {
		if n, o = n.child(name), o.child(name); n == nil || !sameColumn(*n.schema, *o.schema) {
			return -1
		}
	}
	return n.leaf
}

// CopyColumns adds rows as a row group of their own. Those of their columns that are in
// common have the same values in a row group of the file: if they have the layout
// of a Writer there, their pages are copied, after their checksums were verified.
// The others are encoded as WriteGroups does, which takes the same ends. T has no
// heavy leaves.
func (w *Writer[T]) CopyColumns(from *Common, rowGroup int, rows []T, ends []int) error {
	if w.closed {
		return fmt.Errorf("write Parquet: %w", io.ErrClosedPipe)
	}
	if w.failed == nil {
		w.failed = w.copyColumns(from, rowGroup, rowSliceOf(rows), ends)
	}
	return w.failed
}

func (w *Writer[T]) copyColumns(from *Common, rowGroup int, rows rowSlice, ends []int) error {
	if err := w.flush(); err != nil {
		return err
	}
	g, src := w.current, &from.f.meta.RowGroups[rowGroup]
	if src.NumRows != int64(rows.n) || len(g.heavy) > 0 {
		return fmt.Errorf("write Parquet: %d rows do not match row group %d of %q", rows.n, rowGroup, from.f.name)
	}
	for i, c := range g.chunks {
		if at := from.at[i]; at >= 0 && c.sameLayout(&src.Columns[at]) {
			if err := c.copyPages(from.f.src, &src.Columns[at], src.NumRows); err != nil {
				b := batch{f: from.f, rowGroup: rowGroup}
				return from.f.fail(c.name, rowGroup, b.first(), err)
			}
		} else if err := c.endTogether(c.addTogether(rows), rows, ends); err != nil {
			return err
		}
	}
	w.rows += src.NumRows
	g.rows += src.NumRows
	return w.flush()
}

// sameLayout reports whether a chunk has the layout that this one would get.
func (c *chunk) sameLayout(from *chunkMeta) bool {
	m := &from.MetaData
	dict := m.DictionaryPageOffset > 0
	return !c.heavy && !c.tokens && m.Codec == format.Zstd && m.TotalCompressedSize <= rowGroupBytes && wholeRows(m) &&
		dict == (c.enc == format.RLEDictionary) &&
		!slices.ContainsFunc(m.EncodingStats, func(s format.PageEncodingStats) bool {
			return s.PageType == format.DataPageV2 && s.Encoding != c.enc
		})
}

// copyPages makes the chunk the same as one of a file, with this many rows.
func (c *chunk) copyPages(src io.ReaderAt, from *chunkMeta, rows int64) (err error) {
	defer refusePanic(&err)
	m := &from.MetaData
	start, end := span(m)
	data := grown(c.packed, int(end-start))
	c.packed = data
	if err := readAt(src, data, start); err != nil {
		return err
	}
	var protocol thrift.CompactProtocol
	var head format.PageHeader
	for len(data) > 0 {
		length, err := decodeHeader(&protocol, data, &head)
		if err != nil {
			return badPage("its header: %v", err)
		}
		size := length + int(head.CompressedPageSize)
		if size < length || size > len(data) {
			return badPage("it claims %d bytes where %d are left", size, len(data))
		}
		page := data[:size]
		if data = data[size:]; head.Type == format.DictionaryPage && c.rows == 0 && c.dictBytes == nil {
			c.dictBytes = slices.Clone(page)
			continue
		}
		h := &head.DataPageHeaderV2.V
		at := pageLocation{format.PageLocation{Offset: c.length(), CompressedPageSize: int32(size), FirstRowIndex: c.rows},
			c.rows + int64(h.NumRows)}
		if err := c.checkPage(&head, &at, page[length:]); err != nil {
			return err
		}
		c.body.Write(page)
		c.pages = append(c.pages, at.PageLocation)
		c.rows = at.end
		c.entries += int64(h.NumValues)
		c.nulls += int64(h.NumNulls)
	}
	if c.rows != rows || c.entries != m.NumValues {
		return badPage("its pages have %d rows and %d values, not %d and %d", c.rows, c.entries, rows, m.NumValues)
	}
	c.inflated, c.copied = m.TotalUncompressedSize, true
	c.bounds, err = boundsOf(src, from, len(c.pages))
	return err
}

// boundsOf returns the bounds of a chunk's pages.
func boundsOf(src io.ReaderAt, from *chunkMeta, pages int) ([]bounds, error) {
	if from.ColumnIndexLength == 0 || from.ColumnIndexLength > maxIndex {
		return []bounds{{}}, nil // they are not recorded
	}
	x, err := readIndex[format.ColumnIndex](src, from.ColumnIndexOffset, from.ColumnIndexLength)
	if err != nil {
		return nil, err
	}
	if len(x.NullPages) != pages || len(x.NullCounts) != pages || len(x.MinValues) != pages || len(x.MaxValues) != pages {
		return nil, badPage("its column index is of %d pages, not %d", len(x.NullPages), pages)
	}
	size := int(valueSize(from.MetaData.Type))
	out := make([]bounds, pages)
	for i := range out {
		b := bounds{min: x.MinValues[i], max: x.MaxValues[i], nulls: x.NullCounts[i], empty: x.NullPages[i]}
		switch {
		case b.empty:
			b.min, b.max = nil, nil
		case from.MetaData.Type == format.ByteArray:
			b.min, b.max = append([]byte{}, b.min...), append([]byte{}, b.max...) // an empty string is a bound
		case len(b.min) != size || len(b.max) != size:
			return nil, badPage("its column index has bounds of %d and %d bytes", len(b.min), len(b.max))
		}
		out[i] = b
	}
	return out, nil
}
