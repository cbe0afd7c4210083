package parquet

import (
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats/parquet/layout"
	"github.com/rollmill/rollmill/storage/fault"
)

// Copyable reports whether Writer.CopyFrom can copy the payload of a file's rows:
// its columns are those of T, and its heavy leaves have the layout of a Writer,
// in pages that can be located without reading others. Files of other tools and
// of other versions of T are not copyable and are decoded.
func Copyable[T any](f *layout.File) bool {
	l := layout.Of[T]()
	if !slices.EqualFunc(l.Meta.Schema[1:], f.Meta.Schema[1:], layout.SameColumn) {
		return false
	}
	for g := range f.Meta.RowGroups {
		for c := range l.Leaves {
			chunk := &f.Meta.RowGroups[g].Columns[c]
			if l.Leaves[c].Payload && !wholeRows(&chunk.MetaData) ||
				layout.Heavy[layout.ColumnName(l.Paths[c])] && !plainPages(chunk, l.Encs[c]) {
				return false
			}
		}
	}
	return true
}

// wholeRows reports whether a chunk's pages end at the ends of rows.
func wholeRows(m *layout.ColumnMeta) bool {
	for _, s := range m.EncodingStats {
		if s.PageType != format.DataPageV2 && s.PageType != format.DictionaryPage {
			return false
		}
	}
	return len(m.EncodingStats) > 0
}

// plainPages reports whether a chunk has only indexed pages, as chunk.endPage makes them.
func plainPages(chunk *layout.ChunkMeta, enc format.Encoding) bool {
	m := &chunk.MetaData
	return m.Codec == format.Zstd && chunk.OffsetIndexLength > 0 && m.DictionaryPageOffset == 0 &&
		!slices.ContainsFunc(m.EncodingStats, func(s format.PageEncodingStats) bool {
			return s.PageType != format.DataPageV2 || s.Encoding != enc
		})
}

// rowRange is a sequence of adjacent rows of a row group that are copied.
type rowRange struct {
	f            *layout.File
	rowGroup     int
	from, to     int64 // in the row group
	begins, ends bool  // it has the first or the last row of an example group
}

// Source is some rows of a file, in ascending order.
type Source struct {
	File *layout.File
	At   []int64
}

// CopyFrom adds one example group, as Write does, with its payload from other files:
// rows has those of the first source, then those of the next. It ignores fields with
// the tag rollmill:"payload", and takes these from the rows of the sources. Other
// fields may differ from those rows, except those of paged leaves. Heavy and paged
// pages of which every row is copied are copied unchanged after their checksums were
// verified. Other heavy pages, and light leaves, are decoded. Each file must be
// Copyable[T] and stay open as long as Holds says.
func (w *Writer[T]) CopyFrom(from []Source, rows []T) error {
	if w.closed {
		return fmt.Errorf("write Parquet: %w", io.ErrClosedPipe)
	}
	if w.failed == nil && len(rows) > 0 {
		w.failed = w.copy(from, rows)
	}
	return w.failed
}

func (w *Writer[T]) copy(from []Source, rows []T) error {
	var ranges []rowRange
	total := int64(0)
	for _, s := range from {
		some, bytes, err := rowRanges(s.File, s.At)
		if err != nil {
			return err
		}
		ranges = append(ranges, some...)
		total += bytes
	}
	if len(ranges) > 0 {
		ranges[0].begins, ranges[len(ranges)-1].ends = true, true
	}
	full := w.current.rows+int64(len(rows)) > rowGroupRows || w.current.bytes+total > copyBytes
	if w.current.rows > 0 && (full || len(w.current.ranges) == 0) {
		if err := w.flush(); err != nil {
			return err
		}
	}
	g := w.current
	for _, c := range g.chunks {
		if c.paged {
			if err := c.copyPaged(ranges, layout.RowSliceOf(rows)); err != nil {
				return err
			}
		} else if !c.Payload {
			c.columnBuffer.addRows(layout.RowSliceOf(rows))
		}
	}
	g.ranges = append(g.ranges, ranges...)
	g.rows += int64(len(rows))
	g.bytes += total
	w.rows += int64(len(rows))
	return endPages(g.chunks, func(c *chunk) bool { return !c.Payload && !c.paged && c.size >= pageBytes })
}

// rowRanges locates rows, and estimates their bytes.
func rowRanges(f *layout.File, at []int64) (out []rowRange, bytes int64, err error) {
	rowGroup, first := 0, int64(0)
	for i, row := range at {
		if row < 0 || row >= f.Rows() || i > 0 && row <= at[i-1] {
			return nil, 0, fault.Invalid(f.Name(), "", nil, "row %d is not among its %d after row %d", row, f.Rows(),
				at[max(i-1, 0)])
		}
		for first+f.Meta.RowGroups[rowGroup].NumRows <= row {
			first += f.Meta.RowGroups[rowGroup].NumRows
			rowGroup++
		}
		g := &f.Meta.RowGroups[rowGroup]
		bytes += g.TotalByteSize / g.NumRows
		if n := len(out); n > 0 && out[n-1].rowGroup == rowGroup && out[n-1].to == row-first {
			out[n-1].to++
			continue
		}
		out = append(out, rowRange{f: f, rowGroup: rowGroup, from: row - first, to: row - first + 1})
	}
	return out, bytes, nil
}

// Holds reports whether rows of f are still to be copied. It may be asked about
// f.WithoutMetadata() instead.
func (w *Writer[T]) Holds(f *layout.File) bool {
	of := func(p rowRange) bool { return p.f.WithoutMetadata() == f.WithoutMetadata() }
	return slices.ContainsFunc(w.current.ranges, of) || slices.ContainsFunc(w.endingRanges, of) ||
		slices.Contains(w.sources, f.WithoutMetadata())
}

// batches returns the selected rows by file and row group, with what must be fetched of them.
func (g *rowGroupBuffer) batches() (batches []*batch, err error) {
	for rest := g.ranges; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].f == rest[0].f && rest[n].rowGroup == rest[0].rowGroup &&
			rest[n].from >= rest[n-1].to {
			n++
		}
		batches = append(batches,
			&batch{f: rest[0].f, src: rest[0].f.Src, rowGroup: rest[0].rowGroup, ranges: rest[:n],
				budget: rest[0].f.NewBudget()})
		rest = rest[n:]
	}
	for _, b := range batches {
		if b.f.Ahead > 0 {
			if err := b.Fetch(g.chunks); err != nil {
				return nil, b.f.Fail("", b.rowGroup, b.ranges[0].from, err)
			}
		}
	}
	return batches, nil
}

// finish copies the chunk's selected rows, if it is of the payload, and ends it.
func (c *chunk) finish(batches []*batch) error {
	if c.Payload {
		if err := c.copyBatches(batches); err != nil {
			return err
		}
	}
	return c.end()
}
