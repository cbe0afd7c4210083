package parquet

import (
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/storage/fault"
)

// Copyable reports whether Writer.CopyFrom can copy the payload of a file's rows:
// its columns are those of T, and its heavy leaves have the layout of a Writer,
// in pages that can be located without reading others. Files of other tools and
// of other versions of T are not copyable and are decoded.
func Copyable[T any](f *File) bool {
	l := layoutOf[T]()
	if !slices.EqualFunc(l.meta.Schema[1:], f.meta.Schema[1:], sameColumn) {
		return false
	}
	for g := range f.meta.RowGroups {
		for c := range l.leaves {
			chunk := &f.meta.RowGroups[g].Columns[c]
			if l.leaves[c].payload && !wholeRows(&chunk.MetaData) ||
				heavy[columnName(l.paths[c])] && !plainPages(chunk, l.encs[c]) {
				return false
			}
		}
	}
	return true
}

func sameColumn(a, b format.SchemaElement) bool {
	return a.Name == b.Name && a.Type == b.Type && a.TypeLength == b.TypeLength && a.RepetitionType == b.RepetitionType &&
		a.NumChildren == b.NumChildren
}

// wholeRows reports whether a chunk's pages end at the ends of rows.
func wholeRows(m *columnMeta) bool {
	for _, s := range m.EncodingStats {
		if s.PageType != format.DataPageV2 && s.PageType != format.DictionaryPage {
			return false
		}
	}
	return len(m.EncodingStats) > 0
}

// plainPages reports whether a chunk has only indexed pages, as chunk.endPage
// makes them.
func plainPages(chunk *chunkMeta, enc format.Encoding) bool {
	m := &chunk.MetaData
	return m.Codec == format.Zstd && chunk.OffsetIndexLength > 0 && m.DictionaryPageOffset == 0 &&
		!slices.ContainsFunc(m.EncodingStats, func(s format.PageEncodingStats) bool {
			return s.PageType != format.DataPageV2 || s.Encoding != enc
		})
}

// rowRange is a sequence of adjacent rows of a row group that are copied.
type rowRange struct {
	f            *File
	rowGroup     int
	from, to     int64 // in the row group
	begins, ends bool  // it has the first or the last row of an example group
}

// Source is some rows of a file, in ascending order.
type Source struct {
	File *File
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
		some, bytes, err := s.File.rowRanges(s.At)
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
			if err := c.copyPaged(ranges, rowSliceOf(rows)); err != nil {
				return err
			}
		} else if !c.payload {
			c.columnBuffer.addRows(rowSliceOf(rows))
		}
	}
	g.ranges = append(g.ranges, ranges...)
	g.rows += int64(len(rows))
	g.bytes += total
	w.rows += int64(len(rows))
	return endPages(g.chunks, func(c *chunk) bool { return !c.payload && !c.paged && c.size >= pageBytes })
}

// rowRanges locates rows, and estimates their bytes.
func (f *File) rowRanges(at []int64) (out []rowRange, bytes int64, err error) {
	rowGroup, first := 0, int64(0)
	for i, row := range at {
		if row < 0 || row >= f.Rows() || i > 0 && row <= at[i-1] {
			return nil, 0, fault.Invalid(f.name, "", nil, "row %d is not among its %d after row %d", row, f.Rows(),
				at[max(i-1, 0)])
		}
		for first+f.meta.RowGroups[rowGroup].NumRows <= row {
			first += f.meta.RowGroups[rowGroup].NumRows
			rowGroup++
		}
		g := &f.meta.RowGroups[rowGroup]
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
// f.Bare() instead.
func (w *Writer[T]) Holds(f *File) bool {
	of := func(p rowRange) bool { return p.f.bare == f.bare }
	return slices.ContainsFunc(w.current.ranges, of) || slices.ContainsFunc(w.endingRanges, of) ||
		slices.Contains(w.sources, f.bare)
}

// batches returns the selected rows by file and row group, with what must be
// fetched of them.
func (g *rowGroupBuffer) batches() (batches []*batch, err error) {
	for rest := g.ranges; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].f == rest[0].f && rest[n].rowGroup == rest[0].rowGroup &&
			rest[n].from >= rest[n-1].to {
			n++
		}
		batches = append(batches,
			&batch{f: rest[0].f, src: rest[0].f.src, rowGroup: rest[0].rowGroup, ranges: rest[:n],
				budget: rest[0].f.newBudget()})
		rest = rest[n:]
	}
	for _, b := range batches {
		if b.f.ahead > 0 {
			if err := b.fetch(g.chunks); err != nil {
				return nil, b.f.fail("", b.rowGroup, b.ranges[0].from, err)
			}
		}
	}
	return batches, nil
}

// finish copies the chunk's selected rows, if it is of the payload, and ends it.
func (c *chunk) finish(batches []*batch) error {
	if c.payload {
		if err := c.copyBatches(batches); err != nil {
			return err
		}
	}
	return c.end()
}
