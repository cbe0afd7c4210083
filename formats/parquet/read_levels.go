package parquet

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
)

func (c *column) levelsV2(raw *rawPage, p *page) (data []byte, enc format.Encoding, err error) {
	h := &raw.header.DataPageHeaderV2.V
	if !raw.header.DataPageHeaderV2.Valid {
		return nil, 0, badPage("its header is of another kind")
	}
	if p.entries, err = c.entries(h.NumValues); err != nil {
		return nil, 0, err
	}
	rep, def := int64(h.RepetitionLevelsByteLength), int64(h.DefinitionLevelsByteLength)
	if rep < 0 || def < 0 || rep+def > int64(len(raw.body)) {
		return nil, 0, badPage("levels of %d and %d bytes among %d", rep, def, len(raw.body))
	}
	c.levels = c.levels[:0]
	if p.reps, err = c.level(raw.body[:rep], c.rep, p.entries); err != nil {
		return nil, 0, err
	}
	if p.defs, err = c.level(raw.body[rep:rep+def], c.node.def, p.entries); err != nil {
		return nil, 0, err
	}
	p.rows, p.whole = int(h.NumRows), true
	data = raw.body[rep+def:]
	if !h.IsCompressed.Valid || h.IsCompressed.V {
		data, err = c.inflate(data, int(int64(raw.header.UncompressedPageSize)-rep-def))
	}
	return data, h.Encoding, err
}

func (c *column) levelsV1(raw *rawPage, p *page) (data []byte, enc format.Encoding, err error) {
	h := &raw.header.DataPageHeader.V
	if !raw.header.DataPageHeader.Valid {
		return nil, 0, badPage("its header is of another kind")
	}
	if p.entries, err = c.entries(h.NumValues); err != nil {
		return nil, 0, err
	}
	if data, err = c.inflate(raw.body, int(raw.header.UncompressedPageSize)); err != nil {
		return nil, 0, err
	}
	c.levels = c.levels[:0]
	p.rows, p.whole = -1, c.rep == 0
	take := func(max int, e format.Encoding) (out []byte, err error) {
		if max == 0 {
			return nil, nil
		}
		if e != format.RLE {
			return nil, badPage("levels in %s", e)
		}
		if len(data) < 4 || uint64(binary.LittleEndian.Uint32(data)) > uint64(len(data)-4) {
			return nil, badPage("levels are cut short")
		}
		n := binary.LittleEndian.Uint32(data)
		out, err = c.level(data[4:4+n], max, p.entries)
		data = data[4+n:]
		return out, err
	}
	if p.reps, err = take(c.rep, h.RepetitionLevelEncoding); err != nil {
		return nil, 0, err
	}
	p.defs, err = take(c.def, h.DefinitionLevelEncoding)
	return data, h.Encoding, err
}

// level decodes n levels of at most max into the column's buffer.
func (c *column) level(data []byte, max, n int) ([]byte, error) {
	if max == 0 {
		return nil, nil
	}
	width := bitWidth(max)
	data, err := checkRuns(data, width, n)
	if err != nil {
		return nil, err
	}
	if err := c.acquirePage(2*int64(n), false); err != nil {
		return nil, err
	}
	from := len(c.levels)
	if need := from + n + 8; cap(c.levels) < need {
		c.levels = append(make([]byte, 0, 2*need), c.levels...)
	}
	out, err := (&rle.Encoding{BitWidth: width}).DecodeLevels(c.levels[from:from:cap(c.levels)], data)
	if err != nil {
		return nil, err
	}
	if len(out) < n {
		return nil, badPage("%d levels where there are %d", len(out), n)
	}
	c.levels = c.levels[:from+n]
	if v := firstAbove(out[:n], max); v > max {
		return nil, badPage("a level of %d, at most %d", v, max)
	}
	return out[:n:n], nil
}

// firstAbove returns the first level above max, or max.
func firstAbove(levels []byte, max int) int {
	const each, high = 0x0101010101010101, 0x8080808080808080
	n := 0
	if max < 128 {
		up := uint64(127-max) * each // moves what is above max to 128 or more
		for n+8 <= len(levels) {
			v := binary.LittleEndian.Uint64(levels[n:])
			if (v|(v+up))&high != 0 { // a byte carries into the next only if it is 128 or more itself
				break
			}
			n += 8
		}
	}
	for _, v := range levels[n:] {
		if int(v) > max {
			return int(v)
		}
	}
	return max
}

// zstdSlack is the room behind a block with which the decoder uses its fast
// path, in pages for which that saves time: every column keeps the room.
const (
	zstdSlack = 130 << 10
	slackFrom = 16 << 10 // bytes of a page
)

// inflate decompresses to exactly the size that the header claims.
func (c *column) inflate(data []byte, size int) ([]byte, error) {
	if size < 0 || size > maxPage {
		return nil, badPage("it claims %d bytes inflated", size)
	}
	if most := int64(len(data)/4+1) << 17; c.codec == format.Zstd && int64(size) > most {
		// a block has 4 bytes, and holds 128 KiB
		return nil, badPage("it claims %d bytes inflated, %d at most are in %d", size, most, len(data))
	}
	var err error
	if c.codec == format.Snappy {
		if n, e := snappy.DecodedLen(data); e != nil || n != size || n > 64*len(data) {
			return nil, badPage("it inflates to %d bytes, not %d", n, size)
		}
	}
	if err = c.acquirePage(int64(len(data))+int64(size), false); err != nil {
		return nil, err
	}
	switch c.codec {
	case format.Uncompressed:
		c.inflated = append(c.inflated[:0], data...)
	case format.Zstd:
		limit := size
		if size >= slackFrom {
			limit += zstdSlack
		}
		c.inflated = grown(c.inflated, limit)
		var out []byte
		out, err = codec{}.Decode(c.inflated[:0:limit], data)
		c.inflated = c.inflated[:len(out)]
	case format.Snappy:
		c.inflated, err = snappy.Decode(c.inflated[:cap(c.inflated)], data)
	case format.Lz4Raw:
		c.inflated = grown(c.inflated, size)
		var n int
		n, err = lz4.UncompressBlock(data, c.inflated)
		c.inflated = c.inflated[:max(n, 0)]
	case format.Gzip:
		c.inflated, err = inflateStream(c.inflated, size, func() (io.Reader, error) {
			return gzip.NewReader(bytes.NewReader(data))
		})
	case format.Brotli:
		c.inflated, err = inflateStream(c.inflated, size, func() (io.Reader, error) {
			return brotli.NewReader(bytes.NewReader(data)), nil
		})
	}
	if err != nil {
		return nil, badPage("%v", err)
	}
	if len(c.inflated) != size {
		return nil, badPage("it inflates to %d bytes, not %d", len(c.inflated), size)
	}
	return c.inflated, nil
}

// inflateStream reads size bytes, and one more if there is one.
func inflateStream(into []byte, size int, open func() (io.Reader, error)) ([]byte, error) {
	r, err := open()
	if err != nil {
		return nil, err
	}
	into = grown(into, size+1)
	n, err := io.ReadFull(r, into)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil // only the one additional byte is missing
	}
	return into[:n], err
}
