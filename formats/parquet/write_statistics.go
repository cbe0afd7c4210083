package parquet

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/parquet-go/parquet-go/format"
)

// bounds is the smallest and the largest value of a page, as for statistics:
// nil when there is none or it is not recorded.
type bounds struct {
	min, max []byte
	nulls    int64
	empty    bool // there is no value
}

// bounds returns the bounds of the buffered values. Long strings are not
// recorded: whole texts would be written into the footer.
func (g *columnBuffer) bounds() bounds {
	b := bounds{nulls: int64(g.entries - g.present), empty: g.present == 0}
	if b.empty {
		return b
	}
	le := binary.LittleEndian
	switch g.Node.Kind {
	case format.Boolean:
		lo, hi := limits(g.bits)
		b.min, b.max = []byte{lo}, []byte{hi}
	case format.Int32:
		lo, hi := limits(g.i32)
		b.min, b.max = le.AppendUint32(nil, uint32(lo)), le.AppendUint32(nil, uint32(hi))
	case format.Int64:
		lo, hi := limits(g.i64)
		b.min, b.max = le.AppendUint64(nil, uint64(lo)), le.AppendUint64(nil, uint64(hi))
	case format.Float:
		if lo, hi := limits(g.f32); lo == lo && hi == hi {
			lo, hi := signed(float64(lo), float64(hi))
			b.min, b.max = le.AppendUint32(nil, math.Float32bits(float32(lo))), le.AppendUint32(nil,
				math.Float32bits(float32(hi)))
		}
	case format.Double:
		if lo, hi := limits(g.f64); lo == lo && hi == hi {
			lo, hi := signed(lo, hi)
			b.min, b.max = le.AppendUint64(nil, math.Float64bits(lo)), le.AppendUint64(nil, math.Float64bits(hi))
		}
	case format.ByteArray:
		b.strings(g.text, g.offsets, g.present)
	}
	return b
}

// pageBounds returns the bounds of the buffered values, which are encoded. In the
// first page of a chunk with a dictionary they are those of the dictionary.
func (c *chunk) pageBounds() bounds {
	d := &c.strings
	if c.rows > 0 || len(d.places) == 0 {
		return c.columnBuffer.bounds()
	}
	b := bounds{nulls: int64(c.columnBuffer.entries - c.present)}
	b.strings(d.text, d.ends, len(d.places))
	return b
}

// limits returns the smallest and the largest value; they are NaN when a value is.
func limits[V byte | int32 | int64 | float32 | float64](values []V) (lo, hi V) {
	lo, hi = values[0], values[0]
	for _, v := range values {
		switch {
		case v < lo:
			lo = v
		case v > hi:
			hi = v
		case v != v:
			return v, v
		}
	}
	return lo, hi
}

// signed makes a zero minimum negative and a zero maximum positive, as the
// format requires: the two are equal, but not to every reader.
func signed(lo, hi float64) (float64, float64) {
	if lo == 0 {
		lo = math.Copysign(0, -1)
	}
	if hi == 0 {
		hi = 0
	}
	return lo, hi
}

// strings sets the bounds of n strings, of which each begins at an offset of text.
func (b *bounds) strings(text []byte, offsets []uint32, n int) {
	var lo, hi, last []byte
	for i := range n {
		s := text[offsets[i]:offsets[i+1]]
		if i > 0 && bytes.Equal(s, last) { // adjacent values are often equal
			continue
		}
		last = s
		if i == 0 || bytes.Compare(s, lo) < 0 {
			lo = s
		}
		if i == 0 || bytes.Compare(s, hi) > 0 {
			hi = s
		}
	}
	if len(lo) <= maxBound && len(hi) <= maxBound {
		b.min, b.max = append([]byte{}, lo...), append([]byte{}, hi...)
	}
}

func (c *chunk) statistics() format.Statistics {
	s := format.Statistics{NullCount: c.nulls}
	for _, b := range c.bounds {
		if b.empty {
			continue
		}
		if b.min == nil {
			return format.Statistics{NullCount: c.nulls}
		}
		if s.MinValue == nil || c.less(b.min, s.MinValue) {
			s.MinValue = b.min
		}
		if s.MaxValue == nil || c.less(s.MaxValue, b.max) {
			s.MaxValue = b.max
		}
	}
	return s
}

func (c *chunk) less(a, b []byte) bool {
	le := binary.LittleEndian
	switch c.Node.Kind {
	case format.Int32:
		return int32(le.Uint32(a)) < int32(le.Uint32(b))
	case format.Int64:
		return int64(le.Uint64(a)) < int64(le.Uint64(b))
	case format.Float:
		return math.Float32frombits(le.Uint32(a)) < math.Float32frombits(le.Uint32(b))
	case format.Double:
		return math.Float64frombits(le.Uint64(a)) < math.Float64frombits(le.Uint64(b))
	}
	return bytes.Compare(a, b) < 0
}

// columnIndex returns the bounds of each page; nil when those of a page are not
// recorded, because readers that skip pages would take an empty bound as real.
func (c *chunk) columnIndex() *format.ColumnIndex {
	if len(c.bounds) == 0 {
		return nil
	}
	var x format.ColumnIndex
	for _, b := range c.bounds {
		if b.min == nil && !b.empty {
			return nil
		}
		x.NullPages = append(x.NullPages, b.empty)
		x.NullCounts = append(x.NullCounts, b.nulls)
		x.MinValues = append(x.MinValues, b.min)
		x.MaxValues = append(x.MaxValues, b.max)
	}
	return &x
}
