package page

import (
	"bytes"
	"errors"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/parquet/layout"
)

// Room claims the memory of n values, before they are decoded.
func (c *Column) Room(n int, keep bool) error { return c.acquirePage(int64(n)*ValueSize(c.Kind), keep) }

// ValueSize returns the memory of a value, without a string's text.
func ValueSize(kind format.Type) int64 {
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
func (c *Column) decode(v *layout.Values, data []byte, enc format.Encoding, n int) error {
	switch {
	case n == 0:
		*v = layout.Values{Bools: v.Bools[:0], I32: v.I32[:0], I64: v.I64[:0], F32: v.F32[:0], F64: v.F64[:0], Strs: v.Strs[:0]}
		return nil
	//lint:ignore SA1019 older writers' files say so
	case enc == format.RLEDictionary || enc == format.PlainDictionary:
		return c.indexed(v, data, n)
	case enc == format.RLE && c.Kind == format.Boolean && len(data) >= 4:
		return c.runs(v, data[4:], n)
	case enc == format.DeltaByteArray && (c.Kind == format.ByteArray || c.Length > 0):
		return c.prefixed(v, data, n)
	}
	return c.direct(v, data, enc, n, c.Keep)
}

// fits checks the number of values that data claims to hold.
func (c *Column) fits(data []byte, enc format.Encoding, n int) error {
	short := false
	switch {
	case enc == format.DeltaBinaryPacked || enc == format.DeltaLengthByteArray:
		return checkDelta(data, n)
	case c.Kind == format.Boolean:
		short = len(data) < (n+7)/8
	case c.Kind == format.ByteArray:
		short = int64(n)*4 > int64(len(data))
	case c.Length > 0:
		short = int64(len(data)) != int64(n)*int64(c.Length)
	default:
		short = int64(len(data)) != int64(n)*ValueSize(c.Kind)
	}
	if short {
		return layout.BadPage("%d values of %s in %d bytes", n, c.Kind, len(data))
	}
	return nil
}

// direct decodes values that are stored in the page itself; keep says that they outlive it.
func (c *Column) direct(v *layout.Values, data []byte, enc format.Encoding, n int, keep bool) error {
	e := encodings[enc]
	if e == nil {
		return c.unread(enc)
	}
	err := c.fits(data, enc, n)
	if err != nil {
		return err
	}
	if err := c.Room(n, keep); err != nil {
		return err
	}
	got := n
	switch {
	case c.Kind == format.Boolean && enc == format.Plain:
		v.Bools = v.Bools[:0]
		for i := range n {
			v.Bools = append(v.Bools, data[i/8]>>(i%8)&1 == 1)
		}
	case c.Kind == format.Int32:
		v.I32, err = e.DecodeInt32(layout.Grown(v.I32, n), data)
		got = len(v.I32)
	case c.Kind == format.Int64:
		v.I64, err = e.DecodeInt64(layout.Grown(v.I64, n), data)
		got = len(v.I64)
	case c.Kind == format.Float:
		v.F32, err = e.DecodeFloat(layout.Grown(v.F32, n), data)
		got = len(v.F32)
	case c.Kind == format.Double:
		v.F64, err = e.DecodeDouble(layout.Grown(v.F64, n), data)
		got = len(v.F64)
	case c.Kind == format.ByteArray || c.Length > 0:
		err = c.decodeTexts(v, data, e, n, keep)
		got = len(v.Strs)
	default:
		return c.unread(enc)
	}
	switch {
	case errors.Is(err, encoding.ErrNotSupported):
		return c.unread(enc)
	case err != nil:
		return layout.BadPage("%v", err)
	case got != n:
		return layout.BadPage("%d values where there are %d", got, n)
	}
	return nil
}

func (c *Column) unread(enc format.Encoding) error {
	return layout.BadPage("%s values in %s are not read here", c.Kind, enc)
}

// decodeTexts decodes strings of variable or of fixed length.
func (c *Column) decodeTexts(v *layout.Values, data []byte, e encoding.Encoding, n int, keep bool) error {
	text, err := c.textRoom(int64(len(data)), keep)
	if err != nil {
		return err
	}
	if c.Kind == format.ByteArray {
		text, c.Offsets, err = e.DecodeByteArray(text, data, c.Offsets)
	} else if text, err = e.DecodeFixedLenByteArray(text, data, c.Length); err == nil {
		c.Offsets = c.Offsets[:0]
		for at := 0; at <= len(text); at += c.Length {
			c.Offsets = append(c.Offsets, uint32(at))
		}
	}
	c.strings(v, text, n)
	return err
}

// prefixed decodes DELTA_BYTE_ARRAY, in which a value repeats a prefix of the
// one before. parquet-go's own decoder does not bound the repeated bytes.
func (c *Column) prefixed(v *layout.Values, data []byte, n int) error {
	if err := c.Room(2*n, c.Keep); err != nil {
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
	c.Offsets = append(c.Offsets[:0], 0)
	last := 0
	for i, p := range prefixes {
		k := suffixes[i]
		if p < 0 || k < 0 || int(p) > len(text)-last || int(k) > len(rest) || c.Length > 0 && int(p+k) != c.Length {
			return layout.BadPage("a value of %d and %d bytes after one of %d", p, k, len(text)-last)
		}
		from := last
		last = len(text)
		text = append(append(text, text[from:from+int(p)]...), rest[:k]...)
		rest = rest[k:]
		c.Offsets = append(c.Offsets, uint32(len(text)))
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
		return nil, nil, layout.BadPage("%d lengths where there are %d: %v", len(lengths), n, err)
	}
	return lengths, data[end:], nil
}

// runs decodes run-length encoded booleans.
func (c *Column) runs(v *layout.Values, data []byte, n int) error {
	if err := c.Room(n, c.Keep); err != nil {
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
		return layout.BadPage("%d booleans where there are %d: %v", len(packed), n, err)
	}
	v.Bools = v.Bools[:0]
	for _, b := range packed[:n] {
		v.Bools = append(v.Bools, b != 0)
	}
	return nil
}

// strings splits a page's text into values that share its memory.
func (c *Column) strings(v *layout.Values, text []byte, n int) {
	v.Strs = layout.Grown(v.Strs, n)[:0]
	all := formats.Text(text)
	for i := 0; i+1 < len(c.Offsets) && i < n; i++ {
		v.Strs = append(v.Strs, all[c.Offsets[i]:c.Offsets[i+1]])
	}
}

// indexed looks up values in the chunk's dictionary.
func (c *Column) indexed(v *layout.Values, data []byte, n int) error {
	if len(data) == 0 {
		return layout.BadPage("no indexes")
	}
	if err := c.Room(n, c.Keep); err != nil {
		return err
	}
	runs, err := checkRuns(data[1:], int(data[0]), n)
	if err != nil {
		return err
	}
	if err := c.acquirePage(4*int64(n), false); err != nil {
		return err
	}
	c.Index, err = (&rle.Encoding{BitWidth: int(data[0])}).DecodeInt32(layout.Grown(c.Index, n+8), runs)
	if err != nil || len(c.Index) < n {
		return layout.BadPage("%d indexes where there are %d: %v", len(c.Index), n, err)
	}
	index := c.Index[:n]
	ok := false
	switch c.Kind {
	case format.Int32:
		v.I32, ok = lookup(v.I32, c.Dict.I32, index)
	case format.Int64:
		v.I64, ok = lookup(v.I64, c.Dict.I64, index)
	case format.Float:
		v.F32, ok = lookup(v.F32, c.Dict.F32, index)
	case format.Double:
		v.F64, ok = lookup(v.F64, c.Dict.F64, index)
	default:
		v.Strs, ok = lookup(v.Strs, c.Dict.Strs, index)
	}
	if !ok {
		return layout.BadPage("an index outside the dictionary")
	}
	return nil
}

func lookup[V any](out, dict []V, index []int32) ([]V, bool) {
	out = layout.Grown(out, len(index))
	for i, at := range index {
		if uint(at) >= uint(len(dict)) {
			return out, false
		}
		out[i] = dict[at]
	}
	return out, true
}

func count(levels []byte, v byte) int { return bytes.Count(levels, []byte{v}) }
