package spill

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
)

// Append encodes a value for Decode in the same process, without loss: every
// bit of a number, every byte of a text, and whether a pointer or a list is
// nil. encoding/json has no NaN and repairs text; encoding/gob encodes a
// pointer to zero as nil. Types are structs of exported fields, lists, bytes,
// pointers, texts, numbers and truth values; it panics for any other kind.
func Append[T any](b []byte, v *T) []byte { return appendValue(b, reflect.ValueOf(v).Elem()) }

// Decode reads what Append wrote.
func Decode[T any](b []byte, v *T) {
	d := decoder(b)
	d.value(reflect.ValueOf(v).Elem())
}

func appendValue(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			b = appendValue(b, v.Field(i))
		}
		return b
	case reflect.String:
		return append(binary.AppendUvarint(b, uint64(v.Len())), v.String()...)
	case reflect.Int, reflect.Int32, reflect.Int64:
		return binary.AppendVarint(b, v.Int())
	case reflect.Uint64:
		return binary.LittleEndian.AppendUint64(b, v.Uint())
	case reflect.Float32:
		return binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v.Float())))
	case reflect.Float64:
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(v.Float()))
	case reflect.Bool:
		if v.Bool() {
			return append(b, 1)
		}
		return append(b, 0)
	case reflect.Pointer:
		if v.IsNil() {
			return append(b, 0)
		}
		return appendValue(append(b, 1), v.Elem())
	case reflect.Slice:
		if v.IsNil() {
			return append(b, 0)
		}
		b = binary.AppendUvarint(b, uint64(v.Len())+1)
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return append(b, v.Bytes()...)
		}
		for i := range v.Len() {
			b = appendValue(b, v.Index(i))
		}
		return b
	}
	panic(fmt.Sprintf("spill: a value of type %v", v.Type()))
}

type decoder []byte

func (d *decoder) take(n int) []byte {
	b := (*d)[:n]
	*d = (*d)[n:]
	return b
}

func (d *decoder) count() int {
	x, n := binary.Uvarint(*d)
	d.take(n)
	return int(x)
}

func (d *decoder) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			d.value(v.Field(i))
		}
	case reflect.String:
		v.SetString(string(d.take(d.count())))
	case reflect.Int, reflect.Int32, reflect.Int64:
		x, n := binary.Varint(*d)
		d.take(n)
		v.SetInt(x)
	case reflect.Uint64:
		v.SetUint(binary.LittleEndian.Uint64(d.take(8)))
	case reflect.Float32:
		v.SetFloat(float64(math.Float32frombits(binary.LittleEndian.Uint32(d.take(4)))))
	case reflect.Float64:
		v.SetFloat(math.Float64frombits(binary.LittleEndian.Uint64(d.take(8))))
	case reflect.Bool:
		v.SetBool(d.take(1)[0] == 1)
	case reflect.Pointer:
		v.SetZero()
		if d.take(1)[0] == 1 {
			v.Set(reflect.New(v.Type().Elem()))
			d.value(v.Elem())
		}
	case reflect.Slice:
		n := d.count()
		if v.SetZero(); n == 0 {
			return
		}
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes(slices.Clone(d.take(n - 1)))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n-1, n-1))
		for i := range n - 1 {
			d.value(v.Index(i))
		}
	}
}
