package page

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"

	"github.com/rollmill/rollmill/formats/parquet/layout"
)

func (c *Column) levelsV2(raw *RawPage, p *Page) (data []byte, enc format.Encoding, err error) {
	h := &raw.Header.DataPageHeaderV2.V
	if !raw.Header.DataPageHeaderV2.Valid {
		return nil, 0, layout.BadPage("its header is of another kind")
	}
	if p.Entries, err = c.entries(h.NumValues); err != nil {
		return nil, 0, err
	}
	rep, def := int64(h.RepetitionLevelsByteLength), int64(h.DefinitionLevelsByteLength)
	if rep < 0 || def < 0 || rep+def > int64(len(raw.body)) {
		return nil, 0, layout.BadPage("levels of %d and %d bytes among %d", rep, def, len(raw.body))
	}
	c.Levels = c.Levels[:0]
	if p.Reps, err = c.level(raw.body[:rep], c.Rep, p.Entries); err != nil {
		return nil, 0, err
	}
	if p.Defs, err = c.level(raw.body[rep:rep+def], c.Node.Def, p.Entries); err != nil {
		return nil, 0, err
	}
	p.Rows, p.Whole = int(h.NumRows), true
	data = raw.body[rep+def:]
	if !h.IsCompressed.Valid || h.IsCompressed.V {
		data, err = c.inflate(data, int(int64(raw.Header.UncompressedPageSize)-rep-def))
	}
	return data, h.Encoding, err
}

func (c *Column) levelsV1(raw *RawPage, p *Page) (data []byte, enc format.Encoding, err error) {
	h := &raw.Header.DataPageHeader.V
	if !raw.Header.DataPageHeader.Valid {
		return nil, 0, layout.BadPage("its header is of another kind")
	}
	if p.Entries, err = c.entries(h.NumValues); err != nil {
		return nil, 0, err
	}
	if data, err = c.inflate(raw.body, int(raw.Header.UncompressedPageSize)); err != nil {
		return nil, 0, err
	}
	c.Levels = c.Levels[:0]
	p.Rows, p.Whole = -1, c.Rep == 0
	take := func(max int, e format.Encoding) (out []byte, err error) {
		if max == 0 {
			return nil, nil
		}
		if e != format.RLE {
			return nil, layout.BadPage("levels in %s", e)
		}
		if len(data) < 4 || uint64(binary.LittleEndian.Uint32(data)) > uint64(len(data)-4) {
			return nil, layout.BadPage("levels are cut short")
		}
		n := binary.LittleEndian.Uint32(data)
		out, err = c.level(data[4:4+n], max, p.Entries)
		data = data[4+n:]
		return out, err
	}
	if p.Reps, err = take(c.Rep, h.RepetitionLevelEncoding); err != nil {
		return nil, 0, err
	}
	p.Defs, err = take(c.Def, h.DefinitionLevelEncoding)
	return data, h.Encoding, err
}

// level decodes n levels of at most max into the column's buffer.
func (c *Column) level(data []byte, max, n int) ([]byte, error) {
	if max == 0 {
		return nil, nil
	}
	width := BitWidth(max)
	data, err := checkRuns(data, width, n)
	if err != nil {
		return nil, err
	}
	if err := c.acquirePage(2*int64(n), false); err != nil {
		return nil, err
	}
	from := len(c.Levels)
	if need := from + n + 8; cap(c.Levels) < need {
		c.Levels = append(make([]byte, 0, 2*need), c.Levels...)
	}
	out, err := (&rle.Encoding{BitWidth: width}).DecodeLevels(c.Levels[from:from:cap(c.Levels)], data)
	if err != nil {
		return nil, err
	}
	if len(out) < n {
		return nil, layout.BadPage("%d levels where there are %d", len(out), n)
	}
	c.Levels = c.Levels[:from+n]
	if v := layout.FirstAbove(out[:n], max); v > max {
		return nil, layout.BadPage("a level of %d, at most %d", v, max)
	}
	return out[:n:n], nil
}

// zstdSlack is the room behind a block with which the decoder uses its fast
// path, in pages for which that saves time: every column keeps the room.
const (
	zstdSlack = 130 << 10
	slackFrom = 16 << 10 // bytes of a page
)

// inflate decompresses to exactly the size that the header claims.
func (c *Column) inflate(data []byte, size int) ([]byte, error) {
	if size < 0 || size > layout.MaxPage {
		return nil, layout.BadPage("it claims %d bytes inflated", size)
	}
	if most := int64(len(data)/4+1) << 17; c.Codec == format.Zstd && int64(size) > most {
		// a block has 4 bytes, and holds 128 KiB
		return nil, layout.BadPage("it claims %d bytes inflated, %d at most are in %d", size, most, len(data))
	}
	var err error
	if c.Codec == format.Snappy {
		if n, e := snappy.DecodedLen(data); e != nil || n != size || n > 64*len(data) {
			return nil, layout.BadPage("it inflates to %d bytes, not %d", n, size)
		}
	}
	if err = c.acquirePage(int64(len(data))+int64(size), false); err != nil {
		return nil, err
	}
	switch c.Codec {
	case format.Uncompressed:
		c.Inflated = append(c.Inflated[:0], data...)
	case format.Zstd:
		limit := size
		if size >= slackFrom {
			limit += zstdSlack
		}
		c.Inflated = layout.Grown(c.Inflated, limit)
		var out []byte
		out, err = Codec{}.Decode(c.Inflated[:0:limit], data)
		c.Inflated = c.Inflated[:len(out)]
	case format.Snappy:
		c.Inflated, err = snappy.Decode(c.Inflated[:cap(c.Inflated)], data)
	case format.Lz4Raw:
		c.Inflated = layout.Grown(c.Inflated, size)
		var n int
		n, err = lz4.UncompressBlock(data, c.Inflated)
		c.Inflated = c.Inflated[:max(n, 0)]
	case format.Gzip:
		c.Inflated, err = inflateStream(c.Inflated, size, func() (io.Reader, error) {
			return gzip.NewReader(bytes.NewReader(data))
		})
	case format.Brotli:
		c.Inflated, err = inflateStream(c.Inflated, size, func() (io.Reader, error) {
			return brotli.NewReader(bytes.NewReader(data)), nil
		})
	}
	if err != nil {
		return nil, layout.BadPage("%v", err)
	}
	if len(c.Inflated) != size {
		return nil, layout.BadPage("it inflates to %d bytes, not %d", len(c.Inflated), size)
	}
	return c.Inflated, nil
}

// inflateStream reads size bytes, and one more if there is one.
func inflateStream(into []byte, size int, open func() (io.Reader, error)) ([]byte, error) {
	r, err := open()
	if err != nil {
		return nil, err
	}
	into = layout.Grown(into, size+1)
	n, err := io.ReadFull(r, into)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil // only the one additional byte is missing
	}
	return into[:n], err
}

// BitWidth returns the bits of levels up to max.
func BitWidth(max int) int {
	width := 1
	for max>>width > 0 {
		width++
	}
	return width
}
