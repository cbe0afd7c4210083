package parquet

import (
	"bytes"
	"encoding/binary"
	"unsafe"

	"github.com/klauspost/compress/snappy"
	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/format"
)

// page is a decoded data page: levels of every entry, and the values of those
// that are there, in the field of their kind. Levels are nil where the column
// has none. Values other than strings' bytes are valid until the next page,
// unless the column is kept (see column).
type page struct {
	entries    int
	rows       int // -1 when the header does not say
	reps, defs []byte
	values     values
	whole      bool // it ends where a row ends
}

// values has one list in use, by the column's kind.
type values struct {
	bools []bool
	i32   []int32
	i64   []int64
	f32   []float32
	f64   []float64
	strs  []string
}

// column decodes the pages of one chunk after another.
type column struct {
	*node
	codec format.CompressionCodec
	left  int64  // entries of the chunk not yet read
	dict  values // of the chunk
	keep  bool   // values are handed out: each page gets memory of its own

	scratch bool // strings too are valid only until the next page
	text    []byte
	holding

	inflated, levels []byte
	index            []int32
	offsets          []uint32
	spare            values
}

// pages decodes the next data page of a chunk, taking in its dictionary first.
// It returns io.EOF at the end.
func (c *column) next(w *window, raw *rawPage, p *page) error {
	for {
		if err := w.next(raw); err != nil {
			return err
		}
		switch raw.header.Type {
		case format.DictionaryPage:
			if err := c.dictionary(raw); err != nil {
				return err
			}
		case format.DataPage, format.DataPageV2:
			return c.data(raw, p)
		}
	}
}

func (c *column) dictionary(raw *rawPage) error {
	h := &raw.header
	n := int(h.DictionaryPageHeader.V.NumValues)
	if !h.DictionaryPageHeader.Valid || n < 0 || n > maxValues {
		return badPage("a dictionary of %d values", n)
	}
	c.turn()
	data, err := c.inflate(raw.body, int(h.UncompressedPageSize))
	if err != nil {
		return err
	}
	c.dict = values{}
	err = c.plain(&c.dict, data, n, true)
	c.words += c.page // until the chunk ends
	c.page, c.kept = 0, 0
	return err
}

func (c *column) data(raw *rawPage, p *page) error {
	h := &raw.header
	c.turn()
	var err error
	var data []byte
	var enc format.Encoding
	if h.Type == format.DataPageV2 {
		data, enc, err = c.levelsV2(raw, p)
	} else {
		data, enc, err = c.levelsV1(raw, p)
	}
	if err != nil {
		return err
	}
	c.left -= int64(p.entries)
	n := p.entries
	if c.def > 0 {
		n = count(p.defs, byte(c.def))
	}
	if !c.keep {
		p.values = c.spare
	} else {
		p.values = values{}
	}
	err = c.decode(&p.values, data, enc, n)
	if !c.keep {
		c.spare = p.values
	}
	return err
}

// entries checks the number of entries that a page claims.
func (c *column) entries(n int32) (int, error) {
	if n < 0 || int64(n) > c.left || n > maxValues {
		return 0, badPage("%d entries where %d are left", n, c.left)
	}
	return int(n), nil
}

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
	if err := c.claim(2*int64(n), false); err != nil {
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
	for _, v := range out[:n] {
		if int(v) > max {
			return nil, badPage("a level of %d, at most %d", v, max)
		}
	}
	return out[:n:n], nil
}

// zstdSlack is room beyond a block with which the decoder takes its fast way.
const zstdSlack = 130 << 10

// inflate decompresses to exactly the size that the header claims.
func (c *column) inflate(data []byte, size int) ([]byte, error) {
	if size < 0 || size > maxPage {
		return nil, badPage("it claims %d bytes inflated", size)
	}
	if most := int64(len(data)/4+1) << 17; c.codec == format.Zstd && int64(size) > most {
		return nil, badPage("it claims %d bytes inflated, %d at most are in %d", size, most, len(data)) // a block has 4 bytes, and holds 128 KiB
	}
	var err error
	if c.codec == format.Snappy {
		if n, e := snappy.DecodedLen(data); e != nil || n != size || n > 64*len(data) {
			return nil, badPage("it inflates to %d bytes, not %d", n, size)
		}
	}
	if err = c.claim(int64(len(data))+int64(size), false); err != nil {
		return nil, err
	}
	switch c.codec {
	case format.Uncompressed:
		c.inflated = append(c.inflated[:0], data...)
	case format.Zstd:
		limit := size + zstdSlack
		c.inflated = grown(c.inflated, limit)
		var out []byte
		out, err = codec{}.Decode(c.inflated[:0:limit], data)
		c.inflated = c.inflated[:len(out)]
	case format.Snappy:
		c.inflated, err = snappy.Decode(c.inflated[:cap(c.inflated)], data)
	}
	if err != nil {
		return nil, badPage("%v", err)
	}
	if len(c.inflated) != size {
		return nil, badPage("it inflates to %d bytes, not %d", len(c.inflated), size)
	}
	return c.inflated, nil
}

// room claims the memory of n values, before they are decoded.
func (c *column) room(n int, keep bool) error { return c.claim(int64(n)*valueSize(c.kind), keep) }

// valueSize is what a value takes in memory, but for a string's text.
func valueSize(kind format.Type) int64 {
	switch kind {
	case format.Boolean:
		return 1
	case format.Int32, format.Float:
		return 4
	case format.Int64, format.Double:
		return 8
	}
	return 20 // a string, and the offset that it is cut at
}

// decode decodes n values of an encoding.
func (c *column) decode(v *values, data []byte, enc format.Encoding, n int) error {
	switch {
	case n == 0:
		*v = values{v.bools[:0], v.i32[:0], v.i64[:0], v.f32[:0], v.f64[:0], v.strs[:0]}
		return nil
	case enc == format.Plain:
		return c.plain(v, data, n, c.keep)
	case enc == format.ByteStreamSplit:
		return c.split(v, data, n)
	}
	if err := c.room(n, c.keep); err != nil {
		return err
	}
	switch {
	//lint:ignore SA1019 older writers' files say so
	case enc == format.RLEDictionary || enc == format.PlainDictionary:
		return c.indexed(v, data, n)
	case enc == format.DeltaBinaryPacked:
		if err := checkDelta(data, n); err != nil {
			return err
		}
		var err error
		if c.kind == format.Int32 {
			v.i32, err = pq.DeltaBinaryPacked.DecodeInt32(grown(v.i32, n), data)
		} else if c.kind == format.Int64 {
			v.i64, err = pq.DeltaBinaryPacked.DecodeInt64(grown(v.i64, n), data)
		}
		return c.counted(v, n, err)
	case enc == format.DeltaLengthByteArray && c.kind == format.ByteArray:
		if err := checkDelta(data, n); err != nil {
			return err
		}
		if err := c.claim(int64(len(data)), !c.scratch); err != nil {
			return err
		}
		if !c.scratch || cap(c.text) < len(data) {
			c.text = make([]byte, 0, len(data))
		}
		text, offsets, err := pq.DeltaLengthByteArray.DecodeByteArray(c.text[:0], data, c.offsets)
		c.offsets = offsets
		c.strings(v, text, n)
		return c.counted(v, n, err)
	case enc == format.RLE && c.kind == format.Boolean && len(data) >= 4:
		runs, err := checkRuns(data[4:], 1, n)
		if err != nil {
			return err
		}
		if err := c.claim(int64(n), false); err != nil {
			return err
		}
		packed, err := (&rle.Encoding{BitWidth: 1}).DecodeLevels(nil, runs)
		if err != nil || len(packed) < n {
			return badPage("%d booleans where there are %d: %v", len(packed), n, err)
		}
		v.bools = v.bools[:0]
		for _, b := range packed[:n] {
			v.bools = append(v.bools, b != 0)
		}
		return nil
	}
	return badPage("%s values in %s are not read here", c.kind, enc)
}

// fits checks that n numbers of the plain encoding, or split, are all of the
// data, and claims their memory.
func (c *column) fits(data []byte, n int, keep bool) error {
	switch c.kind {
	case format.Boolean, format.ByteArray:
	default:
		if int64(len(data)) != int64(n)*valueSize(c.kind) {
			return badPage("%d values of %s in %d bytes", n, c.kind, len(data))
		}
	}
	return c.room(n, keep)
}

func (c *column) plain(v *values, data []byte, n int, keep bool) (err error) {
	if c.kind == format.Boolean && len(data) < (n+7)/8 || c.kind == format.ByteArray && int64(n)*4 > int64(len(data)) {
		return badPage("%d values of %s in %d bytes", n, c.kind, len(data))
	}
	if err := c.fits(data, n, keep); err != nil {
		return err
	}
	switch c.kind {
	case format.Boolean:
		v.bools = v.bools[:0]
		for i := range n {
			v.bools = append(v.bools, data[i/8]>>(i%8)&1 == 1)
		}
	case format.Int32:
		v.i32, err = pq.Plain.DecodeInt32(grown(v.i32, n), data)
	case format.Int64:
		v.i64, err = pq.Plain.DecodeInt64(grown(v.i64, n), data)
	case format.Float:
		v.f32, err = pq.Plain.DecodeFloat(grown(v.f32, n), data)
	case format.Double:
		v.f64, err = pq.Plain.DecodeDouble(grown(v.f64, n), data)
	case format.ByteArray:
		if err := c.claim(int64(len(data)), !c.scratch); err != nil {
			return err
		}
		var text []byte
		text, c.offsets, err = pq.Plain.DecodeByteArray(make([]byte, 0, len(data)), data, c.offsets)
		c.strings(v, text, n)
	default:
		return badPage("%s values are not read here", c.kind)
	}
	return c.counted(v, n, err)
}

func (c *column) split(v *values, data []byte, n int) (err error) {
	if err := c.fits(data, n, c.keep); err != nil {
		return err
	}
	switch c.kind {
	case format.Int32:
		v.i32, err = pq.ByteStreamSplit.DecodeInt32(grown(v.i32, n), data)
	case format.Int64:
		v.i64, err = pq.ByteStreamSplit.DecodeInt64(grown(v.i64, n), data)
	case format.Float:
		v.f32, err = pq.ByteStreamSplit.DecodeFloat(grown(v.f32, n), data)
	case format.Double:
		v.f64, err = pq.ByteStreamSplit.DecodeDouble(grown(v.f64, n), data)
	default:
		return badPage("%s values in BYTE_STREAM_SPLIT are not read here", c.kind)
	}
	return c.counted(v, n, err)
}

// strings cuts a page's text into values that share its memory.
func (c *column) strings(v *values, text []byte, n int) {
	v.strs = grown(v.strs, n)[:0]
	all := unsafe.String(unsafe.SliceData(text), len(text))
	for i := 0; i+1 < len(c.offsets) && i < n; i++ {
		v.strs = append(v.strs, all[c.offsets[i]:c.offsets[i+1]])
	}
}

// counted checks that decoding gave the values that the levels promise.
func (c *column) counted(v *values, n int, err error) error {
	if err != nil {
		return badPage("%v", err)
	}
	var got int
	switch c.kind {
	case format.Boolean:
		got = len(v.bools)
	case format.Int32:
		got = len(v.i32)
	case format.Int64:
		got = len(v.i64)
	case format.Float:
		got = len(v.f32)
	case format.Double:
		got = len(v.f64)
	case format.ByteArray:
		got = len(v.strs)
	}
	if got != n {
		return badPage("%d values where there are %d", got, n)
	}
	return nil
}

// indexed looks values up in the chunk's dictionary.
func (c *column) indexed(v *values, data []byte, n int) error {
	if len(data) == 0 {
		return badPage("no indexes")
	}
	runs, err := checkRuns(data[1:], int(data[0]), n)
	if err != nil {
		return err
	}
	if err := c.claim(4*int64(n), false); err != nil {
		return err
	}
	c.index, err = (&rle.Encoding{BitWidth: int(data[0])}).DecodeInt32(grown(c.index, n+8), runs)
	if err != nil || len(c.index) < n {
		return badPage("%d indexes where there are %d: %v", len(c.index), n, err)
	}
	index := c.index[:n]
	ok := false
	switch c.kind {
	case format.Int32:
		v.i32, ok = lookup(v.i32, c.dict.i32, index)
	case format.Int64:
		v.i64, ok = lookup(v.i64, c.dict.i64, index)
	case format.Float:
		v.f32, ok = lookup(v.f32, c.dict.f32, index)
	case format.Double:
		v.f64, ok = lookup(v.f64, c.dict.f64, index)
	case format.ByteArray:
		v.strs, ok = lookup(v.strs, c.dict.strs, index)
	}
	if !ok {
		return badPage("an index outside the dictionary")
	}
	return nil
}

func lookup[V any](out, dict []V, index []int32) ([]V, bool) {
	out = grown(out, len(index))
	for i, at := range index {
		if uint(at) >= uint(len(dict)) {
			return out, false
		}
		out[i] = dict[at]
	}
	return out, true
}

// grown returns a list of n values, in the memory of s when that suffices.
func grown[V any](s []V, n int) []V {
	if cap(s) < n {
		return make([]V, n)
	}
	return s[:n]
}

func count(levels []byte, v byte) int { return bytes.Count(levels, []byte{v}) }
