package jsontext

import (
	"math"
	"reflect"
	"strconv"
	"time"
	"unsafe" // encoders of rows of any type, by the offsets of their fields

	"github.com/rollmill/rollmill/formats/schema"
)

// Rows returns a function that appends a row as a JSON object on one line, with
// its columns (schema.FieldsOf) as keys, in order. A column that is null is
// left out; Raw is written as it is. NaN and the infinities are the strings "NaN", "Infinity" and
// "-Infinity"; times are TimeLayout.
func Rows[T any]() func(dst []byte, row *T) []byte {
	encode := encoderOf(reflect.TypeFor[T](), false)
	return func(dst []byte, row *T) []byte { return encode(dst, unsafe.Pointer(row)) }
}

// encoder appends the value at an address.
type encoder func(dst []byte, at unsafe.Pointer) []byte

// encoderOf returns the encoder of a type of package formats. It is made once:
// a row is then written without reflection.
func encoderOf(t reflect.Type, isTime bool) encoder {
	if t == reflect.TypeFor[Raw]() {
		return func(dst []byte, at unsafe.Pointer) []byte { return append(dst, *(*Raw)(at)...) }
	}
	switch t.Kind() {
	case reflect.Struct:
		return structEncoder(t)
	case reflect.Slice:
		return listEncoder(t)
	case reflect.Pointer:
		inner := encoderOf(t.Elem(), false)
		return func(dst []byte, at unsafe.Pointer) []byte { return inner(dst, *(*unsafe.Pointer)(at)) }
	case reflect.String:
		return func(dst []byte, at unsafe.Pointer) []byte { return AppendText(dst, *(*string)(at)) }
	case reflect.Bool:
		return func(dst []byte, at unsafe.Pointer) []byte { return strconv.AppendBool(dst, *(*bool)(at)) }
	case reflect.Int32:
		return func(dst []byte, at unsafe.Pointer) []byte { return strconv.AppendInt(dst, int64(*(*int32)(at)), 10) }
	case reflect.Int64:
		if isTime {
			return func(dst []byte, at unsafe.Pointer) []byte {
				return time.UnixMicro(*(*int64)(at)).UTC().AppendFormat(dst, TimeLayout)
			}
		}
		return func(dst []byte, at unsafe.Pointer) []byte { return strconv.AppendInt(dst, *(*int64)(at), 10) }
	case reflect.Float32:
		return func(dst []byte, at unsafe.Pointer) []byte { return appendFloat(dst, float64(*(*float32)(at)), 32) }
	case reflect.Float64:
		return func(dst []byte, at unsafe.Pointer) []byte { return appendFloat(dst, *(*float64)(at), 64) }
	}
	panic("jsontext: a column of type " + t.String())
}

func appendFloat(dst []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	return AppendNumber(dst, f, bits)
}

// TimeLayout is how rows hold times.
const TimeLayout = `"2006-01-02T15:04:05.000000Z"`

func structEncoder(t reflect.Type) encoder {
	type column struct {
		key    []byte // with quotes, colon, and a comma before it
		offset uintptr
		null   func(at unsafe.Pointer) bool
		value  encoder
	}
	var columns []column
	for _, f := range schema.FieldsOf(t) {
		columns = append(columns, column{[]byte(`,"` + f.Name + `":`), f.Offset, nullOf(f), encoderOf(f.Type, f.Instant)})
	}
	return func(dst []byte, at unsafe.Pointer) []byte {
		start := len(dst)
		for i := range columns {
			c := &columns[i]
			p := unsafe.Add(at, c.offset)
			if c.null == nil || !c.null(p) {
				dst = c.value(append(dst, c.key...), p)
			}
		}
		if len(dst) == start {
			return append(dst, "{}"...)
		}
		dst[start] = '{'
		return append(dst, '}')
	}
}

// nullOf returns a function that reports whether a column is null; nil for one that is never null.
func nullOf(f schema.Field) func(unsafe.Pointer) bool {
	if !f.Optional {
		return nil
	}
	switch f.Type.Kind() {
	case reflect.String:
		return func(at unsafe.Pointer) bool { return *(*string)(at) == "" }
	case reflect.Slice:
		return func(at unsafe.Pointer) bool { return (*sliceHeader)(at).n == 0 }
	case reflect.Pointer:
		return func(at unsafe.Pointer) bool { return *(*unsafe.Pointer)(at) == nil }
	case reflect.Int64:
		return func(at unsafe.Pointer) bool { return *(*int64)(at) == 0 }
	case reflect.Bool:
		return func(at unsafe.Pointer) bool { return !*(*bool)(at) }
	}
	panic("jsontext: an optional column of type " + f.Type.String())
}

// sliceHeader is the memory of a slice.
type sliceHeader struct {
	first unsafe.Pointer
	n, c  int
}

func listEncoder(t reflect.Type) encoder {
	inner, size := encoderOf(t.Elem(), false), t.Elem().Size()
	return func(dst []byte, at unsafe.Pointer) []byte {
		s := (*sliceHeader)(at)
		dst = append(dst, '[')
		for i := range s.n {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = inner(dst, unsafe.Add(s.first, uintptr(i)*size))
		}
		return append(dst, ']')
	}
}
