package layout

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go/format"
)

// words are the kinds of fields in error messages.
var words = map[format.Type]string{
	format.Boolean: "a boolean", format.Int32: "an integer", format.Int64: "an integer",
	format.Float: "a number", format.Double: "a number", format.ByteArray: "a string",
}

// adapt sets the conversion of a foreign leaf, or returns an error when the
// column has a type that its field cannot hold.
func (l *Leaf) adapt() error {
	n, is := l.Node, "a list"
	if n.Leaf >= 0 && !n.Repeated {
		ok := false
		if l.Convert, ok = l.conversion(); ok {
			return nil
		}
		is = DescribeType(n)
	} else if t := Annotation(n.Schema); t != nil {
		is = t.String()
	} else if n.Leaf < 0 {
		is = n.Describe()
	}
	want := words[l.Kind]
	if l.instant {
		want = "a timestamp"
	}
	return fmt.Errorf("column %s is %s, not %s", l.Name, is, want)
}

// conversion returns the function that converts a page's values, nil when they
// are of the field's kind; ok is false when there is none.
func (l *Leaf) conversion() (convert func(*Values) error, ok bool) {
	n := l.Node
	t := Annotation(n.Schema)
	switch l.Kind {
	case format.ByteArray:
		return checkTexts, n.isText()
	case format.Boolean:
		return nil, n.Kind == format.Boolean
	}
	if l.instant {
		at, is := t.(*format.TimestampType)
		return toMicros(at), is && n.Kind == format.Int64
	}
	whole := l.Kind == format.Int32 || l.Kind == format.Int64
	scale := 1.0
	unsigned := false
	switch t := t.(type) {
	case nil:
	case *format.IntType:
		unsigned = !t.IsSigned
	case *format.DecimalType:
		if whole || t.Scale < 0 || t.Scale > 18 {
			return nil, false
		}
		scale = math.Pow10(int(t.Scale))
	default:
		return nil, false
	}
	switch n.Kind {
	case format.Int32, format.Int64:
		if whole {
			return toIntegers(n.Kind, l.Kind, unsigned), true
		}
		return toNumbers(n.Kind, l.Kind, unsigned, scale), true
	case format.Float, format.Double:
		return toFloats(n.Kind, l.Kind), !whole
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

func checkTexts(v *Values) error {
	for i, s := range v.Strs {
		if !utf8.ValidString(s) {
			return Unfit(i, "a string that is not UTF-8")
		}
	}
	return nil
}

// toMicros converts timestamps to microseconds. It takes those without a time
// zone for UTC.
func toMicros(t *format.TimestampType) func(*Values) error {
	if t == nil {
		return nil
	}
	switch t.Unit.Value.(type) {
	case *format.NanoSeconds:
		return func(v *Values) error {
			for i, at := range v.I64 {
				v.I64[i] = at / 1000
			}
			return nil
		}
	case *format.MilliSeconds:
		return func(v *Values) error {
			for i, at := range v.I64 {
				if at > math.MaxInt64/1000 || at < math.MinInt64/1000 {
					return Unfit(i, "a time of %d milliseconds does not fit into microseconds of 64 bits", at)
				}
				v.I64[i] = at * 1000
			}
			return nil
		}
	}
	return nil
}

// widen sets i64 to a page's integers.
func widen(v *Values, from format.Type, unsigned bool) error {
	if from == format.Int32 {
		v.I64 = Grown(v.I64, len(v.I32))
		for i, x := range v.I32 {
			v.I64[i] = int64(x)
			if unsigned {
				v.I64[i] = int64(uint32(x))
			}
		}
		return nil
	}
	for i, x := range v.I64 {
		if unsigned && x < 0 {
			return Unfit(i, "%d does not fit into 64 bits with a sign", uint64(x))
		}
	}
	return nil
}

// toIntegers converts integers to those of another width.
func toIntegers(from, to format.Type, unsigned bool) func(*Values) error {
	if from == to && !unsigned {
		return nil
	}
	return func(v *Values) error {
		if err := widen(v, from, unsigned); err != nil || to == format.Int64 {
			return err
		}
		v.I32 = Grown(v.I32, len(v.I64))
		for i, x := range v.I64 {
			if x != int64(int32(x)) {
				return Unfit(i, "%d does not fit into 32 bits", x)
			}
			v.I32[i] = int32(x)
		}
		return nil
	}
}

// toNumbers converts integers, or decimals with a scale, to floats.
func toNumbers(from, to format.Type, unsigned bool, scale float64) func(*Values) error {
	return func(v *Values) error {
		if err := widen(v, from, unsigned); err != nil {
			return err
		}
		v.F64 = Grown(v.F64, len(v.I64))
		for i, x := range v.I64 {
			if x > 1<<53 || x < -1<<53 {
				return Unfit(i, "%d has more digits than a float holds", x)
			}
			v.F64[i] = float64(x) / scale
		}
		if to == format.Float {
			return narrow(v)
		}
		return nil
	}
}

// toFloats converts floats to those of another width.
func toFloats(from, to format.Type) func(*Values) error {
	switch {
	case from == to:
		return nil
	case to == format.Float:
		return narrow
	}
	return func(v *Values) error {
		v.F64 = Grown(v.F64, len(v.F32))
		for i, x := range v.F32 {
			v.F64[i] = float64(x)
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
