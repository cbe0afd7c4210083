package rows

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"reflect"
	"strconv"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/schema"
)

// decode reads an object that Append wrote. It refuses an object with other
// keys.
func decode(line []byte) (formats.Trajectory, error) {
	v := reflect.New(mirror)
	if err := strict(line, v.Interface()); err != nil {
		return formats.Trajectory{}, err
	}
	return *(*formats.Trajectory)(v.UnsafePointer()), nil
}

// mirror is the row with tags for encoding/json, and with the same layout.
var mirror = mirrorOf(reflect.TypeFor[formats.Trajectory](), false)

// wide and narrow are floats, and instant microseconds, that read what jsontext.Rows
// writes.
type (
	wide    float64
	narrow  float32
	instant int64
)

func (f *wide) UnmarshalJSON(data []byte) error {
	v, err := parseFloat(data, 64)
	*f = wide(v)
	return err
}

func (f *narrow) UnmarshalJSON(data []byte) error {
	v, err := parseFloat(data, 32)
	*f = narrow(v)
	return err
}

func parseFloat(data []byte, bits int) (float64, error) {
	switch string(data) {
	case `"NaN"`:
		return math.NaN(), nil
	case `"Infinity"`:
		return math.Inf(1), nil
	case `"-Infinity"`:
		return math.Inf(-1), nil
	}
	return strconv.ParseFloat(string(data), bits)
}

func (t *instant) UnmarshalJSON(data []byte) error {
	at, err := time.Parse(jsontext.TimeLayout, string(data))
	*t = instant(at.UnixMicro())
	return err
}

// mirrorOf returns a type with the layout of t, whose fields have tags for
// encoding/json.
func mirrorOf(t reflect.Type, isTime bool) reflect.Type {
	switch t.Kind() {
	case reflect.Float64:
		return reflect.TypeFor[wide]()
	case reflect.Float32:
		return reflect.TypeFor[narrow]()
	case reflect.Int64:
		if isTime {
			return reflect.TypeFor[instant]()
		}
	case reflect.Pointer:
		return reflect.PointerTo(mirrorOf(t.Elem(), false))
	case reflect.Slice:
		return reflect.SliceOf(mirrorOf(t.Elem(), false))
	case reflect.Struct:
		return mirrorStruct(t)
	}
	return t
}

func mirrorStruct(t reflect.Type) reflect.Type {
	columns := columnsAt(t)
	fields := make([]reflect.StructField, t.NumField())
	for i := range fields {
		f := t.Field(i)
		fields[i] = reflect.StructField{Name: f.Name, Type: f.Type, Tag: `json:"-"`}
		if c, ok := columns[f.Offset]; ok && !f.Anonymous {
			fields[i].Type, fields[i].Tag = mirrorOf(f.Type, c.Instant), reflect.StructTag(`json:"`+c.Name+`"`)
		}
	}
	return reflect.StructOf(fields)
}

// columnsAt returns the columns of a struct by their offset.
func columnsAt(t reflect.Type) map[uintptr]schema.Field {
	out := map[uintptr]schema.Field{}
	for _, f := range schema.FieldsOf(t) {
		out[f.Offset] = f
	}
	return out
}

// strict reads one JSON value and refuses keys that v does not have.
func strict(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more after the row")
	}
	return nil
}
