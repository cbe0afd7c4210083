package parquet

import (
	"bufio"
	"encoding/binary"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

const (
	version   = 2 // of the format: data pages are version 2
	createdBy = "rollmill"
)

// tail joins row groups into a file with the light chunks at its end. It must
// keep these invariants: page indexes are one block in (row group, column)
// order, all column indexes before all offset indexes, or parquet-go panics;
// chunks are listed in schema order, wherever they are; ordinals count up;
// column orders match the schema.
type tail struct {
	out  *bufio.Writer
	at   int64 // bytes written
	late int64 // bytes of chunks that wait for the end of the file
	held int64 // of these, bytes in memory

	waits   []bool // by column: its chunks are written at the end
	light   [][]waiting
	meta    format.FileMetaData
	columns []*format.ColumnIndex // (row group, column)
	offsets []format.OffsetIndex

	footerDigest string // set once it is written
}

// newTail begins a file. Light chunks wait only if the first column is heavy: see
// heavyFirst. A file without heavy leaves has no reason to move the others.
func newTail(out io.Writer, l *layout, chunks []*chunk) *tail {
	t := &tail{out: bufio.NewWriterSize(out, 64<<10), waits: make([]bool, len(chunks))}
	t.meta = format.FileMetaData{Version: version, Schema: l.meta.Schema, CreatedBy: l.meta.CreatedBy,
		ColumnOrders: l.meta.ColumnOrders}
	for i, c := range chunks {
		t.waits[i] = chunks[0].heavy && !c.heavy
	}
	return t
}

func (t *tail) write(p []byte) error {
	n, err := t.out.Write(p)
	t.at += int64(n)
	return err
}

// begin writes the magic number at the beginning of the file.
func (t *tail) begin() error {
	if t.at > 0 {
		return nil
	}
	return t.write([]byte(magic))
}

// add begins a row group and writes the chunks that do not wait: these must
// have ended.
func (t *tail) add(chunks []*chunk, rows int64) error {
	if err := t.begin(); err != nil {
		return err
	}
	group := format.RowGroup{NumRows: rows, Ordinal: int16(len(t.meta.RowGroups)),
		Columns: make([]format.ColumnChunk, len(chunks))}
	t.meta.RowGroups = append(t.meta.RowGroups, group)
	t.meta.NumRows += rows
	t.columns = append(t.columns, make([]*format.ColumnIndex, len(chunks))...)
	t.offsets = append(t.offsets, make([]format.OffsetIndex, len(chunks))...)
	for i, c := range chunks {
		if t.waits[i] {
			continue
		}
		at := t.at
		if err := t.write(c.dictBytes); err != nil {
			return err
		}
		if err := c.write(t.write); err != nil {
			return err
		}
		t.describe(i, c)
		t.place(len(t.meta.RowGroups)-1, i, at)
	}
	return nil
}

// hold takes over the other chunks of the row group that was added last.
func (t *tail) hold(chunks []*chunk) {
	row := make([]waiting, len(chunks))
	for i, c := range chunks {
		if !t.waits[i] {
			continue
		}
		t.describe(i, c)
		row[i] = newWaiting(c)
		t.held += int64(len(row[i].own))
		t.late += int64(len(c.dictBytes)) + c.length()
	}
	t.light = append(t.light, row)
}

// describe enters a chunk of the last row group into the footer and the page
// indexes.
func (t *tail) describe(column int, c *chunk) {
	last := len(t.meta.RowGroups) - 1
	at := last*len(t.waits) + column
	t.meta.RowGroups[last].Columns[column], t.offsets[at] = c.describe()
	t.columns[at] = c.columnIndex()
}

// place sets a chunk's offsets to the position that it has.
func (t *tail) place(group, column int, at int64) {
	columns := t.meta.RowGroups[group].Columns
	m := &columns[column].MetaData
	if m.DataPageOffset > 0 {
		m.DictionaryPageOffset = at
	}
	m.DataPageOffset += at
	pages := t.offsets[group*len(columns)+column].PageLocations
	for i := range pages {
		pages[i].Offset += at
	}
}

// close writes the light chunks, column by column so that a few columns of all
// row groups are a few ranges, then the page indexes and the footer.
func (t *tail) close() error {
	if err := t.begin(); err != nil {
		return err
	}
	for c, waits := range t.waits {
		for g := range t.light {
			if !waits {
				continue
			}
			t.place(g, c, t.at)
			w := &t.light[g][c]
			if err := w.write(t.write); err != nil {
				return err
			}
			w.count(&t.meta.RowGroups[g].Columns[c].MetaData)
		}
	}
	t.light, t.held, t.late = nil, 0, 0
	for g := range t.meta.RowGroups {
		t.sum(&t.meta.RowGroups[g])
	}
	if err := t.indexes(); err != nil {
		return err
	}
	return t.footer()
}

func (t *tail) footer() error {
	data, err := thrift.Marshal(new(thrift.CompactProtocol), &t.meta)
	if err != nil {
		return err
	}
	data = append(binary.LittleEndian.AppendUint32(data, uint32(len(data))), magic...)
	t.footerDigest = digestOf(data)
	if err := t.write(data); err != nil {
		return err
	}
	return t.out.Flush()
}

// sum sets the totals of a row group from its chunks, and where it begins.
func (t *tail) sum(group *format.RowGroup) {
	for c := range group.Columns {
		m := &group.Columns[c].MetaData
		start := firstPage(m.DataPageOffset, m.DictionaryPageOffset)
		if c == 0 || start < group.FileOffset {
			group.FileOffset = start
		}
		group.TotalByteSize += m.TotalUncompressedSize
		group.TotalCompressedSize += m.TotalCompressedSize
	}
}

func (t *tail) indexes() error {
	width := len(t.waits)
	for i, x := range t.columns {
		if x == nil {
			continue
		}
		chunk := &t.meta.RowGroups[i/width].Columns[i%width]
		chunk.ColumnIndexOffset = t.at
		n, err := t.encode(x)
		if err != nil {
			return err
		}
		chunk.ColumnIndexLength = int32(n)
	}
	for i := range t.offsets {
		chunk := &t.meta.RowGroups[i/width].Columns[i%width]
		chunk.OffsetIndexOffset = t.at
		n, err := t.encode(&t.offsets[i])
		if err != nil {
			return err
		}
		chunk.OffsetIndexLength = int32(n)
	}
	return nil
}

// encode writes a Thrift structure and returns its length.
func (t *tail) encode(v any) (int, error) {
	data, err := thrift.Marshal(new(thrift.CompactProtocol), v)
	if err != nil {
		return 0, err
	}
	return len(data), t.write(data)
}
