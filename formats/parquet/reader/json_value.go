package reader

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/parquet/layout"
)

// value appends a value whose entries have the repetition level rep and at
// least the definition level least.
func (a *jsonScan) value(b []byte, s *shape, rep, least int) ([]byte, error) {
	if int64(len(b)) > a.f.Budget {
		return b, layout.BadPage("the row has more than %d bytes as JSON", a.f.Budget)
	}
	if s.node.Optional {
		_, _, def, err := a.levels(s.first)
		if err != nil {
			return b, err
		}
		if def < s.node.Def {
			return append(b, "null"...), a.pass(s, rep, least, s.node.Def)
		}
		least = s.node.Def
	}
	switch s.kind {
	case shapeLeaf:
		return a.leaf(b, s, rep)
	case shapeList:
		return a.each(append(b, '['), s, rep, least, ']', func(b []byte, rep int) ([]byte, error) {
			return a.value(b, s.members[0], rep, s.repeated.Def)
		})
	case shapeMap:
		return a.entries(b, s, rep, least)
	}
	return a.object(b, s, rep, least)
}

func (a *jsonScan) object(b []byte, s *shape, rep, least int) (_ []byte, err error) {
	b = append(b, '{')
	first := len(b)
	for _, m := range s.members {
		before := len(b)
		if before > first {
			b = append(b, ',')
		}
		b = append(b, m.key...)
		from := len(b)
		if b, err = a.value(b, m, rep, least); err != nil {
			return b, err
		}
		if a.dropped != nil && s != a.root && string(b[from:]) == "null" {
			b = b[:before]
			*a.dropped++
		}
	}
	return append(b, '}'), nil
}

// entries appends an object when the keys are text, else a list of entries.
func (a *jsonScan) entries(b []byte, s *shape, rep, least int) ([]byte, error) {
	key, value := s.members[0], s.members[1]
	if _, text := layout.Annotation(key.node.Schema).(*format.StringType); !text || key.node.Optional {
		return a.each(append(b, '['), s, rep, least, ']', func(b []byte, rep int) ([]byte, error) {
			return a.object(b, s, rep, s.repeated.Def)
		})
	}
	return a.each(append(b, '{'), s, rep, least, '}', func(b []byte, rep int) ([]byte, error) {
		b, err := a.value(b, key, rep, s.repeated.Def)
		if err != nil {
			return b, err
		}
		return a.value(append(b, ':'), value, rep, s.repeated.Def)
	})
}

// each appends the elements of a list or a map, and the bracket after them.
func (a *jsonScan) each(b []byte, s *shape, rep, least int, end byte,
	one func(b []byte, rep int) ([]byte, error)) ([]byte, error) {
	c, _, def, err := a.levels(s.first)
	if err != nil {
		return b, err
	}
	if def < s.repeated.Def {
		return append(b, end), a.pass(s, rep, least, s.repeated.Def)
	}
	for first := true; ; first = false {
		if !first {
			b, rep = append(b, ','), s.repeated.Rep
		}
		if b, err = one(b, rep); err != nil {
			return b, err
		}
		a.column = c.Name
		more, err := c.more()
		if err != nil {
			return b, err
		}
		if !more || int(c.page.Reps[c.at]) != s.repeated.Rep {
			return append(b, end), nil
		}
	}
}

// pass skips one entry of each leaf, which must have no value from the definition level end on.
func (a *jsonScan) pass(s *shape, rep, least, end int) error {
	for leaf := s.first; leaf < s.end; leaf++ {
		c, r, d, err := a.levels(leaf)
		if err != nil {
			return err
		}
		if r != rep || d < least || d >= end {
			return layout.BadPage("entry %d has the levels %d and %d, other columns of the row %d and %d to %d",
				c.at, r, d, rep, least, end-1)
		}
		c.pass()
	}
	return nil
}

// leaf appends a value that is not null.
func (a *jsonScan) leaf(b []byte, s *shape, rep int) ([]byte, error) {
	c, r, d, err := a.levels(s.first)
	if err != nil {
		return b, err
	}
	if r != rep || d != s.node.Def {
		return b, layout.BadPage("entry %d has the levels %d and %d, not %d and %d", c.at, r, d, rep, s.node.Def)
	}
	b, err = s.write(b, &c.page.Values, c.value)
	if err == nil {
		c.pass()
	}
	return b, err
}

// levels returns the levels of a leaf's next entry. An error after it is of that column.
func (a *jsonScan) levels(leaf int) (c *cursor, rep, def int, err error) {
	c = a.leaves[leaf]
	a.column = c.Name
	if ok, err := c.more(); err != nil || !ok {
		return c, 0, 0, cmp.Or(err, layout.BadPage("the column ended early"))
	}
	if c.page.Reps != nil {
		rep = int(c.page.Reps[c.at])
	}
	if c.page.Defs != nil {
		def = int(c.page.Defs[c.at])
	}
	return c, rep, def, nil
}

// writer appends value i of a column.
type writer = func(b []byte, v *layout.Values, i int) ([]byte, error)

// writerOf returns the writer for a column's values. The error is the type's name.
func writerOf(n *layout.Node) (writer, error) {
	var w writer
	switch t := layout.Annotation(n.Schema).(type) {
	case *format.NullType:
		w = func(b []byte, _ *layout.Values, _ int) ([]byte, error) { return append(b, "null"...), nil }
	case *format.DecimalType:
		w = decimalWriter(n, t)
	case *format.IntType:
		w = wholeWriter(n.Kind, t.IsSigned)
	case *format.DateType:
		w = momentWriter(n.Kind, format.Int32, 24*time.Hour, time.DateOnly)
	case *format.TimeType:
		if unit, kind := t.Unit.Value, format.Int64; unit != nil { // milliseconds of a day fit in 32 bits
			if unit.Duration() == time.Millisecond {
				kind = format.Int32
			}
			w = momentWriter(n.Kind, kind, unit.Duration(), "15:04:05.999999999")
		}
	case *format.TimestampType:
		layout := "2006-01-02T15:04:05.999999999"
		if t.IsAdjustedToUTC {
			layout += "Z"
		}
		if t.Unit.Value != nil {
			w = momentWriter(n.Kind, format.Int64, t.Unit.Value.Duration(), layout)
		}
	case *format.StringType:
		if n.Kind == format.ByteArray {
			w = writeText
		}
	case *format.UUIDType:
		if n.Length == len(uuid.UUID{}) {
			w = writeUUID
		}
	case *format.Float16Type:
		if n.Length == 2 {
			w = writeHalf
		}
	case *format.EnumType, *format.JsonType:
		if w = plainWriter(n); n.Kind == format.ByteArray {
			w = writeText
		}
	case layout.Interval:
		if n.Length == 12 {
			w = writeInterval
		}
	case nil, *format.BsonType, *format.GeometryType, *format.GeographyType:
		w = plainWriter(n)
	}
	if w == nil {
		return nil, errors.New(layout.DescribeType(n))
	}
	return w, nil
}

// plainWriter returns the writer for values without an annotation.
func plainWriter(n *layout.Node) writer {
	switch n.Kind {
	case format.Boolean:
		return func(b []byte, v *layout.Values, i int) ([]byte, error) { return strconv.AppendBool(b, v.Bools[i]), nil }
	case format.Int32, format.Int64:
		return wholeWriter(n.Kind, true)
	case format.Int96:
		return writeInt96
	case format.Float:
		return func(b []byte, v *layout.Values, i int) ([]byte, error) {
			return appendFloat(b, float64(v.F32[i]), 32), nil
		}
	case format.Double:
		return func(b []byte, v *layout.Values, i int) ([]byte, error) { return appendFloat(b, v.F64[i], 64), nil }
	case format.ByteArray:
		return writeBytes
	case format.FixedLenByteArray:
		if n.Length > 0 {
			return writeBytes
		}
	}
	return nil
}

// whole returns a function that reads an integer of a column.
func whole(kind format.Type) func(v *layout.Values, i int) int64 {
	switch kind {
	case format.Int32:
		return func(v *layout.Values, i int) int64 { return int64(v.I32[i]) }
	case format.Int64:
		return func(v *layout.Values, i int) int64 { return v.I64[i] }
	}
	return nil
}

func wholeWriter(kind format.Type, signed bool) writer {
	of, bits := whole(kind), uint64(math.MaxUint64)
	switch {
	case of == nil:
		return nil
	case signed:
		return func(b []byte, v *layout.Values, i int) ([]byte, error) {
			return strconv.AppendInt(b, of(v, i), 10), nil
		}
	case kind == format.Int32:
		bits = math.MaxUint32
	}
	return func(b []byte, v *layout.Values, i int) ([]byte, error) {
		return strconv.AppendUint(b, uint64(of(v, i))&bits, 10), nil
	}
}

// maxDigits is the largest number of digits that any tool writes for a decimal,
// and maxDecimal the bytes of a number that large.
const (
	maxDigits  = 76
	maxDecimal = 32
)

func decimalWriter(n *layout.Node, t *format.DecimalType) writer {
	if t.Scale < 0 || t.Scale > t.Precision || t.Precision > maxDigits {
		return nil
	}
	scale := int(t.Scale)
	if of := whole(n.Kind); of != nil {
		return func(b []byte, v *layout.Values, i int) ([]byte, error) {
			return appendDecimal(b, big.NewInt(of(v, i)), scale), nil
		}
	}
	if n.Kind != format.ByteArray && n.Kind != format.FixedLenByteArray || n.Length > maxDecimal {
		return nil
	}
	return func(b []byte, v *layout.Values, i int) ([]byte, error) {
		s := v.Strs[i]
		if len(s) > maxDecimal {
			return b, layout.BadPage("a decimal of %d bytes", len(s))
		}
		unscaled := new(big.Int).SetBytes([]byte(s))
		if len(s) > 0 && s[0] >= 0x80 {
			unscaled.Sub(unscaled, new(big.Int).Lsh(big.NewInt(1), uint(8*len(s))))
		}
		return appendDecimal(b, unscaled, scale), nil
	}
}

func appendDecimal(b []byte, unscaled *big.Int, scale int) []byte {
	if unscaled.Sign() < 0 {
		b = append(b, '-')
		unscaled.Neg(unscaled)
	}
	digits := fmt.Sprintf("%0*s", scale+1, unscaled)
	b = append(b, digits[:len(digits)-scale]...)
	if scale > 0 {
		b = append(append(b, '.'), digits[len(digits)-scale:]...)
	}
	return b
}

// momentWriter returns the writer for counts of a unit since 1970.
func momentWriter(kind, want format.Type, unit time.Duration, form string) writer {
	of := whole(kind)
	if of == nil || kind != want {
		return nil
	}
	return func(b []byte, v *layout.Values, i int) ([]byte, error) {
		n, each, seconds := of(v, i), int64(max(1, time.Second/unit)), int64(max(1, unit/time.Second))
		return appendMoment(b, time.Unix(n/each*seconds, n%each*int64(unit)), form), nil
	}
}

func appendMoment(b []byte, at time.Time, form string) []byte {
	return append(at.UTC().AppendFormat(append(b, '"'), form), '"')
}

// writeInt96 writes the instants of older Spark, Hive and Impala: the nanoseconds of a Julian day.
func writeInt96(b []byte, v *layout.Values, i int) ([]byte, error) {
	const epoch = 2440588 // 1970-01-01
	s := []byte(v.Strs[i])
	nanos, day := int64(binary.LittleEndian.Uint64(s)), int64(binary.LittleEndian.Uint32(s[8:]))
	return appendMoment(b, time.Unix((day-epoch)*24*60*60, nanos), "2006-01-02T15:04:05.999999999Z"), nil
}

// writeInterval writes months, days and milliseconds.
func writeInterval(b []byte, v *layout.Values, i int) ([]byte, error) {
	part := func(at int) uint32 { return binary.LittleEndian.Uint32([]byte(v.Strs[i][at:])) }
	ms := part(8)
	return fmt.Appendf(b, `"P%dM%dDT%d.%03dS"`, part(0), part(4), ms/1000, ms%1000), nil
}

func writeText(b []byte, v *layout.Values, i int) ([]byte, error) {
	if s := v.Strs[i]; utf8.ValidString(s) {
		return jsontext.AppendString(b, s), nil
	}
	return b, layout.BadPage("a text is not UTF-8")
}

// writeBytes writes bytes as base64, as all other readers take such a column for
// bytes: text that some values happen to be would make two forms of one column.
func writeBytes(b []byte, v *layout.Values, i int) ([]byte, error) {
	return append(base64.StdEncoding.AppendEncode(append(b, '"'), []byte(v.Strs[i])), '"'), nil
}

func writeUUID(b []byte, v *layout.Values, i int) ([]byte, error) {
	return jsontext.AppendString(b, uuid.UUID([]byte(v.Strs[i])).String()), nil
}

// writeHalf shifts the bits of a float of 16 bits to where one of 32 has them: its exponent is
// 112 less then, but for NaN and the infinities.
func writeHalf(b []byte, v *layout.Values, i int) ([]byte, error) {
	half := uint32(binary.LittleEndian.Uint16([]byte(v.Strs[i])))
	bits, scale := half&0x8000<<16|half&0x7fff<<13, 0x1p112
	if half&0x7c00 == 0x7c00 {
		bits, scale = bits|0x7f800000, 1
	}
	return appendFloat(b, float64(math.Float32frombits(bits))*scale, 32), nil
}

// appendFloat appends the shortest number that reads back as the same bits. A
// whole number keeps a ".0", as table tools print it.
func appendFloat(b []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, "NaN"...)
	case math.IsInf(f, 1):
		return append(b, "Infinity"...)
	case math.IsInf(f, -1):
		return append(b, "-Infinity"...)
	}
	if f == math.Trunc(f) && math.Abs(f) < 1e21 {
		return append(strconv.AppendFloat(b, f, 'f', -1, bits), ".0"...)
	}
	format := byte('f')
	if a := math.Abs(f); a < 1e-6 || a >= 1e21 {
		format = 'e'
	}
	return strconv.AppendFloat(b, f, format, -1, bits)
}
