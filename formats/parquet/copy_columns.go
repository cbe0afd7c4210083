package parquet

import (
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats/parquet/layout"
	"github.com/rollmill/rollmill/formats/parquet/page"
)

// Common is a file, and which of its columns rows of another kind have too: those
// of the same name and type, or those of them that are named.
type Common struct {
	f  *layout.File
	at []int // by column of the rows: the file's, -1 for none
}

// NewCommon compares the columns of T with those of a file. With names, only columns
// of these names, at the top, are in common.
func NewCommon[T any](f *layout.File, names ...string) (*Common, error) {
	l := layout.Of[T]()
	root, leaves, err := layout.NewSchema(l.Meta.Schema)
	if err != nil {
		return nil, err
	}
	c := &Common{f: f}
	for _, n := range leaves {
		at := -1
		if len(names) == 0 || slices.Contains(names, n.Path[0]) {
			at = f.Root.Same(root, n.Path)
		}
		c.at = append(c.at, at)
	}
	return c, nil
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
		w.failed = w.copyColumns(from, rowGroup, layout.RowSliceOf(rows), ends)
	}
	return w.failed
}

func (w *Writer[T]) copyColumns(from *Common, rowGroup int, rows layout.RowSlice, ends []int) error {
	if err := w.flush(); err != nil {
		return err
	}
	g, src := w.current, &from.f.Meta.RowGroups[rowGroup]
	if src.NumRows != int64(rows.N) || len(g.heavy) > 0 {
		return fmt.Errorf("write Parquet: %d rows do not match row group %d of %q", rows.N, rowGroup, from.f.Name())
	}
	for i, c := range g.chunks {
		if at := from.at[i]; at >= 0 && c.sameLayout(&src.Columns[at]) {
			if err := c.copyPages(from.f.Src, &src.Columns[at], src.NumRows); err != nil {
				b := batch{f: from.f, rowGroup: rowGroup}
				return from.f.Fail(c.Name, rowGroup, b.first(), err)
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
func (c *chunk) sameLayout(from *layout.ChunkMeta) bool {
	m := &from.MetaData
	dict := m.DictionaryPageOffset > 0
	return !c.heavy && !c.tokens && m.Codec == format.Zstd && m.TotalCompressedSize <= rowGroupBytes && wholeRows(m) &&
		dict == (c.enc == format.RLEDictionary) &&
		!slices.ContainsFunc(m.EncodingStats, func(s format.PageEncodingStats) bool {
			return s.PageType == format.DataPageV2 && s.Encoding != c.enc
		})
}

// copyPages makes the chunk the same as one of a file, with this many rows.
func (c *chunk) copyPages(src io.ReaderAt, from *layout.ChunkMeta, rows int64) (err error) {
	defer refusePanic(&err)
	m := &from.MetaData
	start, end := layout.Span(m)
	data := layout.Grown(c.packed, int(end-start))
	c.packed = data
	if err := layout.ReadAt(src, data, start); err != nil {
		return err
	}
	var protocol thrift.CompactProtocol
	var head format.PageHeader
	for len(data) > 0 {
		length, err := page.DecodeHeader(&protocol, data, &head)
		if err != nil {
			return layout.BadPage("its header: %v", err)
		}
		size := length + int(head.CompressedPageSize)
		if size < length || size > len(data) {
			return layout.BadPage("it claims %d bytes where %d are left", size, len(data))
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
		return layout.BadPage("its pages have %d rows and %d values, not %d and %d", c.rows, c.entries, rows, m.NumValues)
	}
	c.inflated, c.copied = m.TotalUncompressedSize, true
	c.bounds, err = boundsOf(src, from, len(c.pages))
	return err
}

// boundsOf returns the bounds of a chunk's pages.
func boundsOf(src io.ReaderAt, from *layout.ChunkMeta, pages int) ([]bounds, error) {
	if from.ColumnIndexLength == 0 || from.ColumnIndexLength > layout.MaxIndex {
		return []bounds{{}}, nil // they are not recorded
	}
	x, err := layout.ReadIndex[format.ColumnIndex](src, from.ColumnIndexOffset, from.ColumnIndexLength)
	if err != nil {
		return nil, err
	}
	if len(x.NullPages) != pages || len(x.NullCounts) != pages || len(x.MinValues) != pages || len(x.MaxValues) != pages {
		return nil, layout.BadPage("its column index is of %d pages, not %d", len(x.NullPages), pages)
	}
	size := int(page.ValueSize(from.MetaData.Type))
	out := make([]bounds, pages)
	for i := range out {
		b := bounds{min: x.MinValues[i], max: x.MaxValues[i], nulls: x.NullCounts[i], empty: x.NullPages[i]}
		switch {
		case b.empty:
			b.min, b.max = nil, nil
		case from.MetaData.Type == format.ByteArray:
			b.min, b.max = append([]byte{}, b.min...), append([]byte{}, b.max...) // an empty string is a bound
		case len(b.min) != size || len(b.max) != size:
			return nil, layout.BadPage("its column index has bounds of %d and %d bytes", len(b.min), len(b.max))
		}
		out[i] = b
	}
	return out, nil
}
