package parquet

import (
	"bytes"
	"fmt"
	"hash/crc32"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats/parquet/layout"
	"github.com/rollmill/rollmill/formats/parquet/page"
)

// chunk is one column of the row group that is being written: its compressed
// pages, and the entries that are not in a page yet.
type chunk struct {
	columnBuffer
	path  []string
	enc   format.Encoding
	heavy bool
	paged bool // not heavy, and its pages may be copied

	body       bytes.Buffer // data pages, but for those in pageRanges
	pageRanges []pageRange
	rangeSize  int64      // bytes of pageRanges
	source     chunkPages // of a paged leaf: the last chunk that it was copied from
	pages      []format.PageLocation
	bounds     []bounds // of each page of a light leaf
	rows       int64    // in pages
	entries    int64
	nulls      int64
	inflated   int64
	strings    dictionary // of a chunk in RLE_DICTIONARY, by its kind
	ids        ids
	dictBytes  []byte // the dictionary page, after the chunk has ended
	copied     bool   // its pages are those of another file: see Writer.CopyColumns

	levels, data, packed []byte
}

func newChunk(l *layout.Layout, column int) *chunk {
	c := &chunk{columnBuffer: columnBuffer{Leaf: l.Leaves[column]}, path: l.Paths[column], enc: l.Encs[column]}
	c.heavy, c.paged = layout.Heavy[layout.ColumnName(c.path)], layout.Paged[layout.ColumnName(c.path)]
	if c.enc == format.RLEDictionary && (c.heavy || c.Node.Kind != format.ByteArray && c.Node.Kind != format.Int32) {
		c.enc = format.Plain // dictionaries are for short strings that repeat, and for token ids
	}
	c.tokens = !c.heavy && ofTokens(c.Leaf, c.enc)
	c.reset()
	return c
}

// reset begins the next row group.
func (c *chunk) reset() {
	c.columnBuffer.reset()
	c.body.Reset()
	clear(c.pageRanges)
	c.pageRanges, c.rangeSize, c.source = c.pageRanges[:0], 0, chunkPages{}
	c.pages, c.bounds = c.pages[:0:0], c.bounds[:0]
	c.rows, c.entries, c.nulls, c.inflated = 0, 0, 0, 0
	c.strings.reset()
	c.ids.reset()
	c.dictBytes, c.copied = nil, false
}

func (c *chunk) endPage() error {
	g := &c.columnBuffer
	if g.entries == 0 {
		return nil
	}
	reps, defs, err := c.encodeLevels()
	if err != nil {
		return err
	}
	if err := c.encode(); err != nil {
		return fmt.Errorf("encode column %s: %w", layout.ColumnName(c.path), err)
	}
	if !c.heavy && !c.tokens {
		c.bounds = append(c.bounds, c.pageBounds())
	}
	if len(c.data) > layout.MaxPage {
		return fmt.Errorf("column %s: a page of %d bytes; at most %d are read", layout.ColumnName(c.path), len(c.data), layout.MaxPage)
	}
	nulls := g.entries - g.present
	head := format.PageHeader{Type: format.DataPageV2, DataPageHeaderV2: thrift.New(format.DataPageHeaderV2{
		NumValues: int32(g.entries), NumNulls: int32(nulls), NumRows: int32(g.rows), Encoding: c.enc,
		RepetitionLevelsByteLength: int32(reps), DefinitionLevelsByteLength: int32(defs), IsCompressed: thrift.New(true),
		Statistics: format.Statistics{NullCount: int64(nulls)},
	})}
	c.pages = append(c.pages, format.PageLocation{Offset: c.length(), FirstRowIndex: c.rows})
	size, err := c.page(&c.body, &head, c.levels, c.data)
	if err != nil {
		return err
	}
	c.pages[len(c.pages)-1].CompressedPageSize = int32(size)
	c.rows += int64(g.rows)
	c.entries += int64(g.entries)
	c.nulls += int64(nulls)
	g.reset()
	return nil
}

// encodeLevels encodes the levels into c.levels and returns their lengths.
func (c *chunk) encodeLevels() (reps, defs int, err error) {
	c.levels = c.levels[:0]
	if c.tokens {
		c.levels = c.appendReps(c.levels)
		reps = len(c.levels)
		c.levels = c.appendDefs(c.levels)
		return reps, len(c.levels) - reps, nil
	}
	if reps, err = c.level(c.reps, c.Node.Rep); err != nil {
		return 0, 0, err
	}
	defs, err = c.level(c.defs, c.Node.Def)
	return reps, defs, err
}

// level appends encoded levels to c.levels and returns their length.
func (c *chunk) level(levels []byte, max int) (int, error) {
	if max == 0 {
		return 0, nil
	}
	out, err := (&rle.Encoding{BitWidth: page.BitWidth(max)}).EncodeLevels(c.packed, levels)
	c.packed = out
	c.levels = append(c.levels, out...)
	return len(out), err
}

// page compresses and writes a page: the levels uncompressed, then the data.
func (c *chunk) page(out *bytes.Buffer, head *format.PageHeader, levels, data []byte) (size int, err error) {
	if c.packed, err = (page.Codec{}).Encode(c.packed, data); err != nil {
		return 0, err
	}
	sum := crc32.Update(crc32.ChecksumIEEE(levels), crc32.IEEETable, c.packed)
	head.CRC = int32(sum)
	head.UncompressedPageSize = int32(len(levels) + len(data))
	head.CompressedPageSize = int32(len(levels) + len(c.packed))
	header, err := thrift.Marshal(new(thrift.CompactProtocol), head)
	if err != nil {
		return 0, err
	}
	out.Write(header)
	out.Write(levels)
	out.Write(c.packed)
	c.inflated += int64(len(header) + len(levels) + len(data))
	return len(header) + len(levels) + len(c.packed), nil
}

// encode encodes the buffered values into c.data.
func (c *chunk) encode() (err error) {
	g := &c.columnBuffer
	switch {
	case c.enc == format.RLEDictionary && c.Node.Kind == format.Int32:
		c.data = c.ids.encode(c.data[:0], g.i32)
	case c.enc == format.RLEDictionary:
		c.data, err = pq.RLEDictionary.EncodeInt32(c.data, c.strings.indexes(g))
	case c.enc == format.DeltaLengthByteArray:
		c.data, err = pq.DeltaLengthByteArray.EncodeByteArray(c.data, g.text, g.offsets)
	case c.enc == format.DeltaBinaryPacked && c.Node.Kind == format.Int32:
		c.data, err = pq.DeltaBinaryPacked.EncodeInt32(c.data, g.i32)
	case c.enc == format.DeltaBinaryPacked:
		c.data, err = pq.DeltaBinaryPacked.EncodeInt64(c.data, g.i64)
	case c.enc == format.ByteStreamSplit && c.Node.Kind == format.Float:
		c.data, err = pq.ByteStreamSplit.EncodeFloat(c.data, g.f32)
	case c.enc == format.ByteStreamSplit:
		c.data, err = pq.ByteStreamSplit.EncodeDouble(c.data, g.f64)
	case c.enc == format.Plain:
		err = c.plain()
	default:
		err = fmt.Errorf("%s in %s is not written here", c.Node.Kind, c.enc)
	}
	return err
}

func (c *chunk) plain() (err error) {
	g := &c.columnBuffer
	switch c.Node.Kind {
	case format.Boolean:
		c.data = appendBits(c.data[:0], g.bits)
	case format.Int32:
		c.data, err = pq.Plain.EncodeInt32(c.data, g.i32)
	case format.Int64:
		c.data, err = pq.Plain.EncodeInt64(c.data, g.i64)
	case format.Float:
		c.data, err = pq.Plain.EncodeFloat(c.data, g.f32)
	case format.Double:
		c.data, err = pq.Plain.EncodeDouble(c.data, g.f64)
	default:
		c.data, err = pq.Plain.EncodeByteArray(c.data, g.text, g.offsets)
	}
	return err
}

// end writes the last page and the dictionary page.
func (c *chunk) end() error {
	if err := c.endPage(); err != nil {
		return err
	}
	if c.enc != format.RLEDictionary || c.copied {
		return nil
	}
	var err error
	n := len(c.strings.places)
	if c.Node.Kind == format.Int32 {
		n = len(c.ids.values)
		c.data, err = pq.Plain.EncodeInt32(c.data, c.ids.values)
	} else {
		c.data, err = pq.Plain.EncodeByteArray(c.data, c.strings.text, c.strings.ends)
	}
	if err != nil {
		return err
	}
	head := format.PageHeader{Type: format.DictionaryPage, DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{
		NumValues: int32(n), Encoding: format.Plain,
	})}
	var out bytes.Buffer
	if _, err := c.page(&out, &head, nil, c.data); err != nil {
		return err
	}
	c.dictBytes = out.Bytes()
	return nil
}

// length returns the bytes of the chunk's data pages.
func (c *chunk) length() int64 { return int64(c.body.Len()) + c.rangeSize }

// stored returns the bytes of the chunk so far, compressed or not.
func (c *chunk) stored() int64 { return c.length() + c.size }

// Describe returns the chunk's entry in the footer, with offsets relative to
// the chunk's first byte.
func (c *chunk) Describe() (format.ColumnChunk, format.OffsetIndex) {
	m := format.ColumnMetaData{
		Type: c.Node.Kind, PathInSchema: c.path, Codec: format.Zstd, NumValues: c.entries,
		TotalUncompressedSize: c.inflated, TotalCompressedSize: int64(len(c.dictBytes)) + c.length(),
		Encoding:      []format.Encoding{c.enc, format.RLE},
		EncodingStats: []format.PageEncodingStats{{PageType: format.DataPageV2, Encoding: c.enc, Count: int32(len(c.pages))}},
		Statistics:    c.statistics(),
	}
	if c.dictBytes != nil {
		m.Encoding = append(m.Encoding, format.Plain)
		m.EncodingStats = append(m.EncodingStats,
			format.PageEncodingStats{PageType: format.DictionaryPage, Encoding: format.Plain, Count: 1})
		m.DataPageOffset = int64(len(c.dictBytes))
	}
	for i := range c.pages {
		c.pages[i].Offset += m.DataPageOffset
	}
	return format.ColumnChunk{MetaData: m}, format.OffsetIndex{PageLocations: c.pages}
}
