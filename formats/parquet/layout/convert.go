package layout

import (
	"errors"
	"fmt"
	"math"

	"github.com/parquet-go/parquet-go/format"
)

// conversion returns what makes a page's numbers those of a field of another width, nil
// when they are of the field's kind; ok is false when there is none.
func (n *Node) conversion(kind format.Type) (convert func(*Values) error, ok bool) {
	if n.Leaf < 0 || n.Repeated || n.Kind == kind {
		return nil, n.Leaf >= 0 && !n.Repeated
	}
	if t := Annotation(n.Schema); t != nil {
		if t, is := t.(*format.IntType); !is || !t.IsSigned {
			return nil, false
		}
	}
	whole := n.Kind == format.Int32 || n.Kind == format.Int64
	switch {
	case kind == format.Int64 && whole:
		return widen, true
	case kind == format.Int32 && whole:
		return shorten, true
	case (kind == format.Float || kind == format.Double) && (whole || n.Kind == format.Float || n.Kind == format.Double):
		return toFloats(n.Kind, kind), true
	}
	return nil, false
}

// misfit is a value that a field cannot hold.
type misfit struct {
	row  int // of the value in its page; then of the rows that are read at once
	what string
}

func (m *misfit) Error() string { return m.what }

// Unfit returns the error about a value that a field cannot hold, by its index in the page; File.Fail adds file,
// column and row.
func Unfit(value int, text string, args ...any) error {
	return &misfit{value, fmt.Sprintf(text, args...)}
}

// InRow gives the error about a value another row, which may depend on the one that it has.
func InRow(err error, row func(int) int) error {
	var m *misfit
	if errors.As(err, &m) {
		m.row = row(m.row)
	}
	return err
}

// RowsBefore adds rows to the row of the error about a value.
func RowsBefore(err error, rows int) error {
	return InRow(err, func(row int) int { return row + rows })
}

// NullElement is what Unfit says of a null in a list whose field has none.
const NullElement = "a list has an element that is null"

// widen sets I64 to a page's short integers.
func widen(v *Values) error {
	v.I64 = Grown(v.I64, len(v.I32))
	for i, x := range v.I32 {
		v.I64[i] = int64(x)
	}
	return nil
}

// shorten sets I32 to a page's long integers.
func shorten(v *Values) error {
	v.I32 = Grown(v.I32, len(v.I64))
	for i, x := range v.I64 {
		if x != int64(int32(x)) {
			return Unfit(i, "%d does not fit into 32 bits", x)
		}
		v.I32[i] = int32(x)
	}
	return nil
}

// toFloats converts integers, or floats of another width, to floats.
func toFloats(from, to format.Type) func(*Values) error {
	return func(v *Values) error {
		switch from {
		case format.Float:
			v.F64 = Grown(v.F64, len(v.F32))
			for i, x := range v.F32 {
				v.F64[i] = float64(x)
			}
		case format.Int32, format.Int64:
			if from == format.Int32 {
				_ = widen(v) // any fits
			}
			v.F64 = Grown(v.F64, len(v.I64))
			for i, x := range v.I64 {
				if x > 1<<53 || x < -1<<53 {
					return Unfit(i, "%d has more digits than a float holds", x)
				}
				v.F64[i] = float64(x)
			}
		}
		if to == format.Float {
			return narrow(v)
		}
		return nil
	}
}

// narrow rounds a page's doubles to floats.
func narrow(v *Values) error {
	v.F32 = Grown(v.F32, len(v.F64))
	for i, x := range v.F64 {
		v.F32[i] = float32(x)
		if math.IsInf(float64(v.F32[i]), 0) && !math.IsInf(x, 0) {
			return Unfit(i, "%g does not fit into a float of 32 bits", x)
		}
	}
	return nil
}
