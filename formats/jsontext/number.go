package jsontext

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
)

// Float is a number in a float column.
type Float float64

// MarshalJSON always writes a fraction or an exponent. JSON has no NaN and no
// infinities: they become null.
func (f Float) MarshalJSON() ([]byte, error) { return AppendNumber(nil, float64(f), 64), nil }

// Floats are the numbers in a list column of 32-bit floats.
type Floats []float32

// MarshalJSON writes each number as Float does.
func (l Floats) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("null"), nil
	}
	out := append(make([]byte, 0, 8*len(l)+2), '[')
	for i, f := range l {
		if i > 0 {
			out = append(out, ',')
		}
		out = AppendNumber(out, float64(f), 32)
	}
	return append(out, ']'), nil
}

// UnmarshalJSON reads null as NaN, which MarshalJSON writes so.
func (l *Floats) UnmarshalJSON(data []byte) error {
	var list []*float32
	err := json.Unmarshal(data, &list)
	for *l = nil; len(list) > 0; list = list[1:] {
		f := float32(math.NaN())
		if list[0] != nil {
			f = *list[0]
		}
		*l = append(*l, f)
	}
	return err
}

// AppendNumber appends a number in the shortest form that reads back as the same
// float of the given number of bits.
func AppendNumber(dst []byte, f float64, bits int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, "null"...)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'g', -1, bits)
	if !bytes.ContainsAny(dst[start:], ".e") {
		dst = append(dst, ".0"...)
	}
	return dst
}
