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

// ParseFloat32 is strconv.ParseFloat at 32 bits, and faster where decimal serves.
func ParseFloat32(raw []byte) (float32, error) {
	if f, ok := decimal(raw); ok {
		return f, nil
	}
	f, err := strconv.ParseFloat(string(raw), 32)
	return float32(f), err
}

// decimal divides the digits of a number without an exponent by a power of ten. It is not ok where its two rounding
// errors at 64 bits may change the result at 32.
func decimal(raw []byte) (f float32, ok bool) {
	mantissa, digits, point := uint64(0), 0, -1
	for i, c := range raw {
		switch {
		case c-'0' <= 9 && mantissa < 1e18:
			mantissa = 10*mantissa + uint64(c-'0')
			digits++
		case c == '.' && point < 0:
			point = digits
		case c != '-' || i > 0:
			return 0, false
		}
	}
	fraction := 0
	if point >= 0 {
		fraction = digits - point
	}
	if digits == 0 || fraction >= len(tens) {
		return 0, false
	}
	x := float64(mantissa) / tens[fraction]
	if raw[0] == '-' {
		x = -x
	}
	low := math.Float64bits(x) & (1<<29 - 1)
	return float32(x), low-(1<<28-4) > 8 // else it is near to the midpoint of two floats
}

// tens are the powers of ten that are exact at 64 bits.
var tens = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
	1e17, 1e18, 1e19, 1e20, 1e21, 1e22}
