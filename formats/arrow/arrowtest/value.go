package arrowtest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"

	"github.com/rollmill/rollmill/formats/jsontext"
)

// AppendValue appends value i of a column as JSON: see parquet.JSON.
func AppendValue(b []byte, column arrow.Array, i int) ([]byte, error) {
	if column.IsNull(i) {
		return append(b, "null"...), nil
	}
	switch c := column.(type) {
	case *array.Null:
		return append(b, "null"...), nil
	case *array.Boolean:
		return strconv.AppendBool(b, c.Value(i)), nil
	case *array.Dictionary:
		return AppendValue(b, c.Dictionary(), c.GetValueIndex(i))
	case *extensions.UUIDArray:
		return quote(b, c.ValueStr(i)), nil
	case array.ExtensionArray:
		return AppendValue(b, c.Storage(), i)
	case *array.Decimal32:
		return append(b, c.Value(i).ToString(scale(c))...), nil
	case *array.Decimal64:
		return append(b, c.Value(i).ToString(scale(c))...), nil
	case *array.Decimal128:
		return append(b, c.Value(i).ToString(scale(c))...), nil
	case *array.Decimal256:
		return append(b, c.Value(i).ToString(scale(c))...), nil
	case *array.Struct:
		return appendStruct(b, c, i)
	case *array.Map:
		return appendMap(b, c, i)
	case array.ListLike:
		from, to := c.ValueOffsets(i)
		return appendList(b, c.ListValues(), int(from), int(to))
	}
	if out, err := appendText(b, column, i); out != nil || err != nil {
		return out, err
	}
	if out := appendNumber(b, column, i); out != nil {
		return out, nil
	}
	if t, ok := moment(column, i); ok {
		return quote(b, t), nil
	}
	v, err := json.Marshal(column.GetOneForMarshal(i)) // durations, intervals, unions
	if err != nil {
		return nil, fmt.Errorf("type %s: %w", column.DataType(), err)
	}
	return append(b, v...), nil
}

func scale(column arrow.Array) int32 { return column.DataType().(arrow.DecimalType).GetScale() }

var errNotUTF8 = errors.New("a text is not UTF-8")

// appendText appends text and bytes; it returns nil for a column of another
// type.
func appendText(b []byte, column arrow.Array, i int) ([]byte, error) {
	switch c := column.(type) {
	case array.StringLike:
		if s := c.Value(i); utf8.ValidString(s) {
			return quote(b, s), nil
		}
		return nil, errNotUTF8
	case interface{ Value(int) []byte }: // of whatever length
		return quote(b, base64.StdEncoding.EncodeToString(c.Value(i))), nil
	}
	return nil, nil
}

// appendNumber appends a number; it returns nil for a column of another type.
func appendNumber(b []byte, column arrow.Array, i int) []byte {
	switch c := column.(type) {
	case *array.Int8, *array.Int16, *array.Int32, *array.Int64, *array.Uint8, *array.Uint16, *array.Uint32, *array.Uint64:
		return append(b, column.ValueStr(i)...)
	case *array.Float16:
		return appendFloat(b, float64(c.Value(i).Float32()), 32)
	case *array.Float32:
		return appendFloat(b, float64(c.Value(i)), 32)
	case *array.Float64:
		return appendFloat(b, c.Value(i), 64)
	}
	return nil
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
	from := len(b)
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	b = strconv.AppendFloat(b, f, format, -1, bits)
	if !bytes.ContainsAny(b[from:], ".e") {
		b = append(b, ".0"...)
	}
	return b
}

// moment returns a date or time in ISO 8601. An instant ends in Z; a time
// without a zone has no suffix.
func moment(column arrow.Array, i int) (string, bool) {
	switch c := column.(type) {
	case *array.Date32:
		return c.Value(i).ToTime().Format(time.DateOnly), true
	case *array.Date64:
		return c.Value(i).ToTime().Format(time.DateOnly), true
	case *array.Time32:
		return c.Value(i).ToTime(c.DataType().(*arrow.Time32Type).Unit).Format("15:04:05.999999999"), true
	case *array.Time64:
		return c.Value(i).ToTime(c.DataType().(*arrow.Time64Type).Unit).Format("15:04:05.999999999"), true
	case *array.Timestamp:
		t := c.DataType().(*arrow.TimestampType)
		layout := "2006-01-02T15:04:05.999999999"
		if t.TimeZone != "" {
			layout += "Z"
		}
		return c.Value(i).ToTime(t.Unit).UTC().Format(layout), true
	}
	return "", false
}

func appendStruct(b []byte, c *array.Struct, i int) ([]byte, error) {
	b = append(b, '{')
	for f := range c.NumField() {
		if f > 0 {
			b = append(b, ',')
		}
		b = append(quote(b, c.DataType().(*arrow.StructType).Field(f).Name), ':')
		var err error
		if b, err = AppendValue(b, c.Field(f), i); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// appendMap appends an object when the keys are text, else a list of entries.
func appendMap(b []byte, c *array.Map, i int) ([]byte, error) {
	from, to := c.ValueOffsets(i)
	if _, ok := c.Keys().(array.StringLike); !ok {
		return appendList(b, c.ListValues(), int(from), int(to))
	}
	b = append(b, '{')
	for j := int(from); j < int(to); j++ {
		if j > int(from) {
			b = append(b, ',')
		}
		var err error
		if b, err = appendText(b, c.Keys(), j); err != nil {
			return nil, err
		}
		if b, err = AppendValue(append(b, ':'), c.Items(), j); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

func appendList(b []byte, values arrow.Array, from, to int) ([]byte, error) {
	b = append(b, '[')
	for j := from; j < to; j++ {
		if j > from {
			b = append(b, ',')
		}
		var err error
		if b, err = AppendValue(b, values, j); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

var quote = jsontext.AppendString
