package parquet

import (
	"bytes"
	"unsafe"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/format"
)

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
