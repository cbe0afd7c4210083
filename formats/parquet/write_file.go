package parquet

import (
	"bufio"
	"encoding/binary"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats/parquet/layout"
)

const version = 2 // of the format: data pages are version 2

// fileWriter joins row groups into a file with the light chunks at its end. It must
// keep these invariants: page indexes are one block in (row group, column)
// order, all column indexes before all offset indexes, or parquet-go panics;
// chunks are listed in schema order, wherever they are; ordinals count up;
// column orders match the schema.
type fileWriter struct {
	out           *bufio.Writer
	at            int64 // bytes written
	deferredBytes int64 // bytes of deferred chunks
	heldBytes     int64 // of these, bytes in memory

	deferred       []bool // by column: its chunks are written at the end
	deferredChunks [][]deferredChunk
	meta           format.FileMetaData
	columns        []*format.ColumnIndex // (row group, column)
	offsets        []format.OffsetIndex

	footerDigest string // set once it is written
}

// newFileWriter begins a file. Light chunks are deferred only if the first column is heavy: see
// heavyFirst. A file without heavy leaves has no reason to move the others.
func newFileWriter(out io.Writer, l *layout.Layout, chunks []*chunk) *fileWriter {
	t := &fileWriter{out: bufio.NewWriterSize(out, 64<<10), deferred: make([]bool, len(chunks))}
	t.meta = format.FileMetaData{Version: version, Schema: l.Meta.Schema, CreatedBy: l.Meta.CreatedBy,
		ColumnOrders: l.Meta.ColumnOrders}
	for i, c := range chunks {
		t.deferred[i] = chunks[0].heavy && !c.heavy
	}
	return t
}

func (t *fileWriter) write(p []byte) error {
	n, err := t.out.Write(p)
	t.at += int64(n)
	return err
}

// writeMagic writes the magic number at the beginning of the file.
func (t *fileWriter) writeMagic() error {
	if t.at > 0 {
		return nil
	}
	return t.write([]byte(layout.Magic))
}

// addRowGroup begins a row group and writes the chunks that are not deferred: these
// must have ended.
func (t *fileWriter) addRowGroup(chunks []*chunk, rows int64) error {
	if err := t.writeMagic(); err != nil {
		return err
	}
	rowGroup := format.RowGroup{NumRows: rows, Ordinal: int16(len(t.meta.RowGroups)),
		Columns: make([]format.ColumnChunk, len(chunks))}
	t.meta.RowGroups = append(t.meta.RowGroups, rowGroup)
	t.meta.NumRows += rows
	t.columns = append(t.columns, make([]*format.ColumnIndex, len(chunks))...)
	t.offsets = append(t.offsets, make([]format.OffsetIndex, len(chunks))...)
	for i, c := range chunks {
		if t.deferred[i] {
			continue
		}
		at := t.at
		if err := t.write(c.dictBytes); err != nil {
			return err
		}
		if err := c.writeRanges(c.body.Bytes(), c.pageRanges, t.write); err != nil {
			return err
		}
		t.Describe(i, c)
		t.setOffsets(len(t.meta.RowGroups)-1, i, at)
	}
	return nil
}

// deferChunks takes over the other chunks of the row group that was added last.
func (t *fileWriter) deferChunks(chunks []*chunk) {
	row := make([]deferredChunk, len(chunks))
	for i, c := range chunks {
		if !t.deferred[i] {
			continue
		}
		t.Describe(i, c)
		row[i] = newDeferredChunk(c)
		t.heldBytes += int64(len(row[i].own))
		t.deferredBytes += int64(len(c.dictBytes)) + c.length()
	}
	t.deferredChunks = append(t.deferredChunks, row)
}

// Describe enters a chunk of the last row group into the footer and the page indexes.
func (t *fileWriter) Describe(column int, c *chunk) {
	last := len(t.meta.RowGroups) - 1
	at := last*len(t.deferred) + column
	t.meta.RowGroups[last].Columns[column], t.offsets[at] = c.Describe()
	t.columns[at] = c.columnIndex()
}

// setOffsets sets a chunk's offsets to the position that it has.
func (t *fileWriter) setOffsets(rowGroup, column int, at int64) {
	columns := t.meta.RowGroups[rowGroup].Columns
	m := &columns[column].MetaData
	if m.DataPageOffset > 0 {
		m.DictionaryPageOffset = at
	}
	m.DataPageOffset += at
	pages := t.offsets[rowGroup*len(columns)+column].PageLocations
	for i := range pages {
		pages[i].Offset += at
	}
}

// close writes the light chunks, column by column so that a few columns of all
// row groups are a few ranges, then the page indexes and the footer.
func (t *fileWriter) close() error {
	if err := t.writeMagic(); err != nil {
		return err
	}
	for c, deferred := range t.deferred {
		for g := range t.deferredChunks {
			if !deferred {
				continue
			}
			t.setOffsets(g, c, t.at)
			w := &t.deferredChunks[g][c]
			if err := w.write(t.write); err != nil {
				return err
			}
			w.count(&t.meta.RowGroups[g].Columns[c].MetaData)
		}
	}
	t.deferredChunks, t.heldBytes, t.deferredBytes = nil, 0, 0
	for g := range t.meta.RowGroups {
		t.setTotals(&t.meta.RowGroups[g])
	}
	if err := t.writeIndexes(); err != nil {
		return err
	}
	return t.writeFooter()
}

func (t *fileWriter) writeFooter() error {
	data, err := thrift.Marshal(new(thrift.CompactProtocol), &t.meta)
	if err != nil {
		return err
	}
	data = append(binary.LittleEndian.AppendUint32(data, uint32(len(data))), layout.Magic...)
	t.footerDigest = layout.DigestOf(data)
	if err := t.write(data); err != nil {
		return err
	}
	return t.out.Flush()
}

// setTotals sets the totals of a row group from its chunks, and where it begins.
func (t *fileWriter) setTotals(rowGroup *format.RowGroup) {
	for c := range rowGroup.Columns {
		m := &rowGroup.Columns[c].MetaData
		start := layout.FirstPage(m.DataPageOffset, m.DictionaryPageOffset)
		if c == 0 || start < rowGroup.FileOffset {
			rowGroup.FileOffset = start
		}
		rowGroup.TotalByteSize += m.TotalUncompressedSize
		rowGroup.TotalCompressedSize += m.TotalCompressedSize
	}
}

func (t *fileWriter) writeIndexes() error {
	chunk := func(i int) *format.ColumnChunk {
		return &t.meta.RowGroups[i/len(t.deferred)].Columns[i%len(t.deferred)]
	}
	for i, x := range t.columns {
		if x == nil {
			continue
		}
		if err := t.writeIndex(x, &chunk(i).ColumnIndexOffset, &chunk(i).ColumnIndexLength); err != nil {
			return err
		}
	}
	for i := range t.offsets {
		if err := t.writeIndex(&t.offsets[i], &chunk(i).OffsetIndexOffset, &chunk(i).OffsetIndexLength); err != nil {
			return err
		}
	}
	return nil
}

// writeIndex writes a Thrift structure, and sets where it is.
func (t *fileWriter) writeIndex(v any, at *int64, length *int32) error {
	data, err := thrift.Marshal(new(thrift.CompactProtocol), v)
	if err != nil {
		return err
	}
	*at, *length = t.at, int32(len(data))
	return t.write(data)
}
