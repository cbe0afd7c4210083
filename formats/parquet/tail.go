package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// tail joins files of one row group each into one file with the light chunks
// at its end. What it must keep true: page indexes are one block in (row
// group, column) order, all column indexes before all offset indexes, or
// parquet-go panics; chunks are listed in schema order, wherever they lie;
// ordinals count up; column orders stay in step with the schema.
type tail struct {
	out  io.Writer
	at   int64 // bytes written
	held int64 // bytes waiting

	heavy   []bool     // by column
	light   [][][]byte // by row group and column: chunks that wait
	meta    format.FileMetaData
	columns []format.ColumnIndex // (row group, column)
	offsets []format.OffsetIndex
}

func newTail(out io.Writer, heavyColumns []int, columns int) *tail {
	t := &tail{out: out, heavy: make([]bool, columns)}
	for _, c := range heavyColumns {
		t.heavy[c] = true
	}
	if len(heavyColumns) == 0 { // nothing to be packed behind: all chunks go out at once
		for i := range t.heavy {
			t.heavy[i] = true
		}
	}
	return t
}

func (t *tail) write(p []byte) error {
	n, err := t.out.Write(p)
	t.at += int64(n)
	return err
}

// begin writes the magic number that opens every file.
func (t *tail) begin() error {
	if t.at > 0 {
		return nil
	}
	return t.write([]byte("PAR1"))
}

// add takes over the row group of a file.
func (t *tail) add(mini []byte) error {
	if err := t.begin(); err != nil {
		return err
	}
	f, err := pq.OpenFile(bytes.NewReader(mini), int64(len(mini)), pq.SkipBloomFilters(true))
	if err != nil {
		return fmt.Errorf("read back a row group: %w", err)
	}
	meta := f.Metadata()
	if len(meta.RowGroups) != 1 {
		return fmt.Errorf("read back a row group: found %d", len(meta.RowGroups))
	}
	if len(t.meta.RowGroups) == 0 {
		t.meta = format.FileMetaData{Version: meta.Version, Schema: meta.Schema, CreatedBy: meta.CreatedBy, ColumnOrders: meta.ColumnOrders}
	}
	group := meta.RowGroups[0]
	group.Ordinal = int16(len(t.meta.RowGroups))
	t.meta.RowGroups = append(t.meta.RowGroups, group)
	t.meta.NumRows += group.NumRows
	t.columns = append(t.columns, f.ColumnIndexes()...)
	t.offsets = append(t.offsets, f.OffsetIndexes()...)

	waiting := make([][]byte, len(group.Columns))
	for c := range group.Columns {
		start, end := span(&group.Columns[c].MetaData)
		chunk := mini[start:end]
		if !t.heavy[c] {
			waiting[c] = bytes.Clone(chunk)
			t.held += int64(len(chunk))
			continue
		}
		t.move(len(t.meta.RowGroups)-1, c)
		if err := t.write(chunk); err != nil {
			return err
		}
	}
	t.light = append(t.light, waiting)
	return nil
}

// span is where a chunk lies in its file.
func span(m *format.ColumnMetaData) (start, end int64) {
	start = m.DataPageOffset
	if m.DictionaryPageOffset > 0 {
		start = m.DictionaryPageOffset
	}
	return start, start + m.TotalCompressedSize
}

// move makes a chunk's offsets those of the place about to be written.
func (t *tail) move(group, column int) {
	columns := t.meta.RowGroups[group].Columns
	m := &columns[column].MetaData
	start, _ := span(m)
	by := t.at - start
	m.DataPageOffset += by
	if m.DictionaryPageOffset > 0 {
		m.DictionaryPageOffset += by
	}
	pages := t.offsets[group*len(columns)+column].PageLocations
	for i := range pages {
		pages[i].Offset += by
	}
}

// close writes the light chunks, column by column so that a few columns of
// all row groups are a few ranges, then the page indexes and the footer.
func (t *tail) close() error {
	for c := range t.heavy {
		for g := range t.light {
			if t.heavy[c] {
				continue
			}
			t.move(g, c)
			if err := t.write(t.light[g][c]); err != nil {
				return err
			}
		}
	}
	t.light, t.held = nil, 0
	for g := range t.meta.RowGroups {
		group := &t.meta.RowGroups[g]
		group.FileOffset, _ = span(&group.Columns[0].MetaData)
		for c := range group.Columns {
			start, _ := span(&group.Columns[c].MetaData)
			group.FileOffset = min(group.FileOffset, start)
		}
	}
	if err := t.indexes(); err != nil {
		return err
	}
	return t.footer()
}

func (t *tail) indexes() error {
	width := len(t.heavy)
	for i := range t.columns {
		chunk := &t.meta.RowGroups[i/width].Columns[i%width]
		chunk.ColumnIndexOffset = t.at
		n, err := t.encode(&t.columns[i])
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

func (t *tail) footer() error {
	n, err := t.encode(&t.meta)
	if err != nil {
		return err
	}
	return t.write(append(binary.LittleEndian.AppendUint32(nil, uint32(n)), "PAR1"...))
}

// encode writes a Thrift structure and returns its length.
func (t *tail) encode(v any) (int, error) {
	data, err := thrift.Marshal(new(thrift.CompactProtocol), v)
	if err != nil {
		return 0, err
	}
	return len(data), t.write(data)
}

// empty writes a file that has a schema and no rows.
func (t *tail) empty(file []byte) error { return t.write(file) }
