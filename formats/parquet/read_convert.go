package parquet

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
func (l *leaf) adapt() error {
	n, is := l.node, "a list"
	if n.leaf >= 0 && !n.repeated {
		ok := false
		if l.convert, ok = l.conversion(); ok {
			return nil
		}
		is = describeType(n)
	} else if t := annotation(n.schema); t != nil {
		is = t.String()
	} else if n.leaf < 0 {
		is = n.describe()
	}
	want := words[l.kind]
	if l.instant {
		want = "a timestamp"
	}
	return fmt.Errorf("column %s is %s, not %s", l.name, is, want)
}

// conversion returns the function that converts a page's values, nil when they
// are of the field's kind; ok is false when there is none.
func (l *leaf) conversion() (convert func(*values) error, ok bool) {
	n := l.node
	t := annotation(n.schema)
	switch l.kind {
	case format.ByteArray:
		return checkTexts, n.isText()
	case format.Boolean:
		return nil, n.kind == format.Boolean
	}
	if l.instant {
		at, is := t.(*format.TimestampType)
		return toMicros(at), is && n.kind == format.Int64
	}
	whole := l.kind == format.Int32 || l.kind == format.Int64
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
	switch n.kind {
	case format.Int32, format.Int64:
		if whole {
			return toIntegers(n.kind, l.kind, unsigned), true
		}
		return toNumbers(n.kind, l.kind, unsigned, scale), true
	case format.Float, format.Double:
		return toFloats(n.kind, l.kind), !whole
	}
	return nil, false
}

// adapted converts the values of the page that was read.
func (c *cursor) adapted() error {
	if c.convert == nil {
		return nil
	}
	if err := c.column.room(c.page.entries, c.column.keep); err != nil {
		return err
	}
	err := c.convert(&c.page.values)
	c.column.spare = c.page.values
	var m *misfit
	if errors.As(err, &m) {
		m.row = c.rowOf(m.row)
	}
	return err
}

// rowOf returns the row of a value of the page, of those that begin in it; -1 in the row before.
func (c *cursor) rowOf(value int) int {
	row := -1
	for i := range c.page.entries {
		if c.page.reps == nil || c.page.reps[i] == 0 {
			row++
		}
		if c.page.defs != nil && int(c.page.defs[i]) < int(c.node.def) {
			continue
		}
		if value--; value < 0 {
			break
		}
	}
	return row
}

// misfit is a value that a field cannot hold.
type misfit struct {
	row  int // of the value in its page; then of those that are read at once
	what string
}

func (m *misfit) Error() string { return m.what }

const nullElement = "a list has an element that is null"

func unfit(value int, text string, args ...any) error {
	return &misfit{value, fmt.Sprintf(text, args...)}
}

// inRow adds the rows before to the place of a value.
func inRow(err error, before int) error {
	var m *misfit
	if errors.As(err, &m) {
		m.row += before
	}
	return err
}

func checkTexts(v *values) error {
	for i, s := range v.strs {
		if !utf8.ValidString(s) {
			return unfit(i, "a string that is not UTF-8")
		}
	}
	return nil
}

// toMicros converts timestamps to microseconds. It takes those without a time
// zone for UTC.
func toMicros(t *format.TimestampType) func(*values) error {
	if t == nil {
		return nil
	}
	switch t.Unit.Value.(type) {
	case *format.NanoSeconds:
		return func(v *values) error {
			for i, at := range v.i64 {
				v.i64[i] = at / 1000
			}
			return nil
		}
	case *format.MilliSeconds:
		return func(v *values) error {
			for i, at := range v.i64 {
				if at > math.MaxInt64/1000 || at < math.MinInt64/1000 {
					return unfit(i, "a time of %d milliseconds does not fit into microseconds of 64 bits", at)
				}
				v.i64[i] = at * 1000
			}
			return nil
		}
	}
	return nil
}

// widen sets i64 to a page's integers.
func widen(v *values, from format.Type, unsigned bool) error {
	if from == format.Int32 {
		v.i64 = grown(v.i64, len(v.i32))
		for i, x := range v.i32 {
			v.i64[i] = int64(x)
			if unsigned {
				v.i64[i] = int64(uint32(x))
			}
		}
		return nil
	}
	for i, x := range v.i64 {
		if unsigned && x < 0 {
			return unfit(i, "%d does not fit into 64 bits with a sign", uint64(x))
		}
	}
	return nil
}

// toIntegers converts integers to those of another width.
func toIntegers(from, to format.Type, unsigned bool) func(*values) error {
	if from == to && !unsigned {
		return nil
	}
	return func(v *values) error {
		if err := widen(v, from, unsigned); err != nil || to == format.Int64 {
			return err
		}
		v.i32 = grown(v.i32, len(v.i64))
		for i, x := range v.i64 {
			if x != int64(int32(x)) {
				return unfit(i, "%d does not fit into 32 bits", x)
			}
			v.i32[i] = int32(x)
		}
		return nil
	}
}

// toNumbers converts integers, or decimals with a scale, to floats.
func toNumbers(from, to format.Type, unsigned bool, scale float64) func(*values) error {
	return func(v *values) error {
		if err := widen(v, from, unsigned); err != nil {
			return err
		}
		v.f64 = grown(v.f64, len(v.i64))
		for i, x := range v.i64 {
			if x > 1<<53 || x < -1<<53 {
				return unfit(i, "%d has more digits than a float holds", x)
			}
			v.f64[i] = float64(x) / scale
		}
		if to == format.Float {
			return narrow(v)
		}
		return nil
	}
}

// toFloats converts floats to those of another width.
func toFloats(from, to format.Type) func(*values) error {
	switch {
	case from == to:
		return nil
	case to == format.Float:
		return narrow
	}
	return func(v *values) error {
		v.f64 = grown(v.f64, len(v.f32))
		for i, x := range v.f32 {
			v.f64[i] = float64(x)
		}
		return nil
	}
}

// narrow rounds a page's doubles to floats.
func narrow(v *values) error {
	v.f32 = grown(v.f32, len(v.f64))
	for i, x := range v.f64 {
		v.f32[i] = float32(x)
		if math.IsInf(float64(v.f32[i]), 0) && !math.IsInf(x, 0) {
			return unfit(i, "%g does not fit into a float of 32 bits", x)
		}
	}
	return nil
}
