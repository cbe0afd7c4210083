package foreigntest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats/arrow/arrowtest"
)

// Arrow reads a file with arrow-go and compares every leaf with the rows'
// fields according to their parquet tags: null and empty are different,
// integers and floats are equal to the last bit.
func Arrow[T any](t testing.TB, file []byte, want []T) {
	t.Helper()
	rows, err := arrowtest.Rows(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(want) {
		t.Fatalf("arrow-go reads %d rows of the %d written", len(rows), len(want))
	}
	for i, object := range rows {
		dec := json.NewDecoder(bytes.NewReader(object))
		dec.UseNumber()
		var got any
		if err := dec.Decode(&got); err != nil {
			t.Fatalf("row %d: %v", i, err)
		}
		if diff := differ(reflect.ValueOf(want[i]), nil, got); diff != "" {
			t.Fatalf("row %d%s", i, diff)
		}
	}
}

// differ returns the difference between a value that arrow-go read and a field
// with the options of its parquet tag; "" when there is none.
func differ(field reflect.Value, options []string, got any) string {
	optional := slices.Contains(options, "optional")
	if field.Kind() == reflect.Pointer {
		if field.IsNil() {
			return unless(got == nil, "want null, got %v", got)
		}
		return differ(field.Elem(), nil, got)
	}
	empty := field.Kind() == reflect.Slice && field.Len() == 0 || field.Kind() != reflect.Slice && field.IsZero()
	if optional && empty {
		return unless(got == nil, "want null, got %v", got)
	}
	switch field.Kind() {
	case reflect.Struct:
		return differFields(field, got)
	case reflect.Slice:
		return differList(field, got)
	}
	return differLeaf(field, slices.Contains(options, "timestamp(microsecond)"), got)
}

func unless(ok bool, format string, args ...any) string {
	if ok {
		return ""
	}
	return ": " + fmt.Sprintf(format, args...)
}

func differFields(field reflect.Value, got any) string {
	object, ok := got.(map[string]any)
	if !ok {
		return fmt.Sprintf(": want an object, got %v", got)
	}
	n := 0
	for i := range field.NumField() {
		if field.Type().Field(i).Anonymous {
			continue
		}
		tag := strings.Split(field.Type().Field(i).Tag.Get("parquet"), ",")
		value, there := object[tag[0]]
		if !there {
			return fmt.Sprintf(": there is no column %s", tag[0])
		}
		if diff := differ(field.Field(i), tag[1:], value); diff != "" {
			return "." + tag[0] + diff
		}
		n++
	}
	return unless(n == len(object), "want %d columns, got %d", n, len(object))
}

func differList(field reflect.Value, got any) string {
	list, ok := got.([]any)
	if !ok || len(list) != field.Len() {
		return fmt.Sprintf(": want a list of %d, got %v", field.Len(), got)
	}
	for i := range field.Len() {
		if diff := differ(field.Index(i), nil, list[i]); diff != "" {
			return fmt.Sprintf("[%d]%s", i, diff)
		}
	}
	return ""
}

func differLeaf(field reflect.Value, timestamp bool, got any) string {
	text := fmt.Sprint(got)
	ok := false
	switch field.Kind() {
	case reflect.String:
		s, isText := got.(string)
		ok = isText && s == field.String()
	case reflect.Bool:
		ok = got == field.Bool()
	case reflect.Int32, reflect.Int64:
		if timestamp {
			at, err := time.Parse(time.RFC3339Nano, text)
			ok = err == nil && at.UnixMicro() == field.Int()
			break
		}
		n, err := strconv.ParseInt(text, 10, 64)
		ok = err == nil && n == field.Int()
	case reflect.Float32:
		f, err := strconv.ParseFloat(text, 32)
		ok = err == nil && math.Float32bits(float32(f)) == math.Float32bits(float32(field.Float()))
	case reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		ok = err == nil && math.Float64bits(f) == math.Float64bits(field.Float())
	}
	return unless(ok, "want %v, got %v", field.Interface(), got)
}
