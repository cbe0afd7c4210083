package parquet

import (
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// arrowRow turns a row of a record batch into plain Go values: maps by column,
// lists, strings, numbers, nil for null.
func arrowRow(t testing.TB, rec arrow.RecordBatch, row int) map[string]any {
	t.Helper()
	out := map[string]any{}
	for i, f := range rec.Schema().Fields() {
		out[f.Name] = arrowValue(t, rec.Column(i), row)
	}
	return out
}

func arrowValue(t testing.TB, a arrow.Array, i int) any {
	t.Helper()
	if a.IsNull(i) {
		return nil
	}
	switch a := a.(type) {
	case *array.String:
		return a.Value(i)
	case *array.Int32:
		return int64(a.Value(i))
	case *array.Int64:
		return a.Value(i)
	case *array.Timestamp:
		return int64(a.Value(i))
	case *array.Float32:
		return float64(a.Value(i))
	case *array.Float64:
		return a.Value(i)
	case *array.Boolean:
		return a.Value(i)
	case *array.Struct:
		out := map[string]any{}
		for j, f := range a.DataType().(*arrow.StructType).Fields() {
			out[f.Name] = arrowValue(t, a.Field(j), i)
		}
		return out
	case *array.List:
		from, to := a.ValueOffsets(i)
		out := []any{}
		for j := from; j < to; j++ {
			out = append(out, arrowValue(t, a.ListValues(), int(j)))
		}
		return out
	}
	t.Fatalf("no value of %s", a.DataType())
	return nil
}

// jsonOf converts a row to the values that arrowRow must return.
func jsonOf(t testing.TB, row any) map[string]any {
	t.Helper()
	return plainStruct(reflect.ValueOf(row))
}

func plainStruct(v reflect.Value) map[string]any {
	out := map[string]any{}
	for i := range v.NumField() {
		if v.Type().Field(i).Anonymous {
			continue
		}
		name, rest, _ := strings.Cut(v.Type().Field(i).Tag.Get("parquet"), ",")
		optional := strings.Contains(rest, "optional")
		out[name] = plainValue(v.Field(i), optional)
	}
	return out
}

func plainValue(v reflect.Value, optional bool) any {
	if optional && v.IsZero() {
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		return plainValue(v.Elem(), false)
	case reflect.String:
		return v.String()
	case reflect.Int32, reflect.Int64:
		return v.Int()
	case reflect.Float32, reflect.Float64:
		return v.Float()
	case reflect.Bool:
		return v.Bool()
	case reflect.Struct:
		return plainStruct(v)
	}
	list := []any{}
	for i := range v.Len() {
		list = append(list, plainValue(v.Index(i), false))
	}
	return list
}
