package parquet

import (
	"bytes"
	"errors"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats"
)

// room claims the memory of n values, before they are decoded.
func (c *column) room(n int, keep bool) error { return c.acquirePage(int64(n)*valueSize(c.kind), keep) }

// valueSize returns the memory of a value, without a string's text.
func valueSize(kind format.Type) int64 {
	switch kind {
	case format.Boolean:
		return 1
	case format.Int32, format.Float:
		return 4
	case format.Int64, format.Double:
		return 8
	}
	return 20 // a string, and the offset at which it begins
}

// encodings are those that direct decodes.
var encodings = map[format.Encoding]encoding.Encoding{
	format.Plain: &pq.Plain, format.ByteStreamSplit: &pq.ByteStreamSplit, format.DeltaBinaryPacked: &pq.DeltaBinaryPacked,
	format.DeltaLengthByteArray: &pq.DeltaLengthByteArray,
}

// decode decodes n values of an encoding.
func (c *column) decode(v *values, data []byte, enc format.Encoding, n int) error {
	switch {
	case n == 0:
		*v = values{v.bools[:0], v.i32[:0], v.i64[:0], v.f32[:0], v.f64[:0], v.strs[:0]}
		return nil
	//lint:ignore SA1019 older writers' files say so
	case enc == format.RLEDictionary || enc == format.PlainDictionary:
		return c.indexed(v, data, n)
	case enc == format.RLE && c.kind == format.Boolean && len(data) >= 4:
		return c.runs(v, data[4:], n)
	case enc == format.DeltaByteArray && (c.kind == format.ByteArray || c.length > 0):
		return c.prefixed(v, data, n)
	}
	return c.direct(v, data, enc, n, c.keep)
}

// fits checks the number of values that data claims to hold.
func (c *column) fits(data []byte, enc format.Encoding, n int) error {
	short := false
	switch {
	case enc == format.DeltaBinaryPacked || enc == format.DeltaLengthByteArray:
		return checkDelta(data, n)
	case c.kind == format.Boolean:
		short = len(data) < (n+7)/8
	case c.kind == format.ByteArray:
		short = int64(n)*4 > int64(len(data))
	case c.length > 0:
		short = int64(len(data)) != int64(n)*int64(c.length)
	default:
		short = int64(len(data)) != int64(n)*valueSize(c.kind)
	}
	if short {
		return badPage("%d values of %s in %d bytes", n, c.kind, len(data))
	}
	return nil
}

// direct decodes values that are stored in the page itself; keep says that they
// outlive it.
func (c *column) direct(v *values, data []byte, enc format.Encoding, n int, keep bool) error {
	e := encodings[enc]
	if e == nil {
		return c.unread(enc)
	}
	err := c.fits(data, enc, n)
	if err != nil {
		return err
	}
	if err := c.room(n, keep); err != nil {
		return err
	}
	got := n
	switch {
	case c.kind == format.Boolean && enc == format.Plain:
		v.bools = v.bools[:0]
		for i := range n {
			v.bools = append(v.bools, data[i/8]>>(i%8)&1 == 1)
		}
	case c.kind == format.Int32:
		v.i32, err = e.DecodeInt32(grown(v.i32, n), data)
		got = len(v.i32)
	case c.kind == format.Int64:
		v.i64, err = e.DecodeInt64(grown(v.i64, n), data)
		got = len(v.i64)
	case c.kind == format.Float:
		v.f32, err = e.DecodeFloat(grown(v.f32, n), data)
		got = len(v.f32)
	case c.kind == format.Double:
		v.f64, err = e.DecodeDouble(grown(v.f64, n), data)
		got = len(v.f64)
	case c.kind == format.ByteArray || c.length > 0:
		err = c.decodeTexts(v, data, e, n, keep)
		got = len(v.strs)
	default:
		return c.unread(enc)
	}
	switch {
	case errors.Is(err, encoding.ErrNotSupported):
		return c.unread(enc)
	case err != nil:
		return badPage("%v", err)
	case got != n:
		return badPage("%d values where there are %d", got, n)
	}
	return nil
}

func (c *column) unread(enc format.Encoding) error {
	return badPage("%s values in %s are not read here", c.kind, enc)
}

// decodeTexts decodes strings of variable or of fixed length.
func (c *column) decodeTexts(v *values, data []byte, e encoding.Encoding, n int, keep bool) error {
	text, err := c.textRoom(int64(len(data)), keep)
	if err != nil {
		return err
	}
	if c.kind == format.ByteArray {
		text, c.offsets, err = e.DecodeByteArray(text, data, c.offsets)
	} else if text, err = e.DecodeFixedLenByteArray(text, data, c.length); err == nil {
		c.offsets = c.offsets[:0]
		for at := 0; at <= len(text); at += c.length {
			c.offsets = append(c.offsets, uint32(at))
		}
	}
	c.strings(v, text, n)
	return err
}

// prefixed decodes DELTA_BYTE_ARRAY, in which a value repeats a prefix of the
// one before. parquet-go's own decoder does not bound the repeated bytes.
func (c *column) prefixed(v *values, data []byte, n int) error {
	if err := c.room(2*n, c.keep); err != nil {
		return err
	}
	prefixes, rest, err := deltas(data, n)
	if err != nil {
		return err
	}
	suffixes, rest, err := deltas(rest, n)
	if err != nil {
		return err
	}
	size := int64(len(rest))
	for _, p := range prefixes {
		size += int64(max(p, 0))
	}
	text, err := c.textRoom(size, false)
	if err != nil {
		return err
	}
	c.offsets = append(c.offsets[:0], 0)
	last := 0
	for i, p := range prefixes {
		k := suffixes[i]
		if p < 0 || k < 0 || int(p) > len(text)-last || int(k) > len(rest) || c.length > 0 && int(p+k) != c.length {
			return badPage("a value of %d and %d bytes after one of %d", p, k, len(text)-last)
		}
		from := last
		last = len(text)
		text = append(append(text, text[from:from+int(p)]...), rest[:k]...)
		rest = rest[k:]
		c.offsets = append(c.offsets, uint32(len(text)))
	}
	c.strings(v, text, n)
	return nil
}

// deltas decodes the n lengths at the beginning of data.
func deltas(data []byte, n int) (lengths []int32, rest []byte, err error) {
	if err := checkDelta(data, n); err != nil {
		return nil, nil, err
	}
	end, err := deltaEnd(data, n)
	if err != nil {
		return nil, nil, err
	}
	if lengths, err = pq.DeltaBinaryPacked.DecodeInt32(make([]int32, 0, n), data[:end]); err != nil || len(lengths) != n {
		return nil, nil, badPage("%d lengths where there are %d: %v", len(lengths), n, err)
	}
	return lengths, data[end:], nil
}

// runs decodes run-length encoded booleans.
func (c *column) runs(v *values, data []byte, n int) error {
	if err := c.room(n, c.keep); err != nil {
		return err
	}
	runs, err := checkRuns(data, 1, n)
	if err != nil {
		return err
	}
	if err := c.acquirePage(int64(n), false); err != nil {
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

// strings splits a page's text into values that share its memory.
func (c *column) strings(v *values, text []byte, n int) {
	v.strs = grown(v.strs, n)[:0]
	all := formats.Text(text)
	for i := 0; i+1 < len(c.offsets) && i < n; i++ {
		v.strs = append(v.strs, all[c.offsets[i]:c.offsets[i+1]])
	}
}

// indexed looks up values in the chunk's dictionary.
func (c *column) indexed(v *values, data []byte, n int) error {
	if len(data) == 0 {
		return badPage("no indexes")
	}
	if err := c.room(n, c.keep); err != nil {
		return err
	}
	runs, err := checkRuns(data[1:], int(data[0]), n)
	if err != nil {
		return err
	}
	if err := c.acquirePage(4*int64(n), false); err != nil {
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
	default:
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

// grown returns a list of n values, in the memory of s if that suffices.
func grown[V any](s []V, n int) []V {
	if cap(s) < n {
		return make([]V, n)
	}
	return s[:n]
}

func count(levels []byte, v byte) int { return bytes.Count(levels, []byte{v}) }
