package parquet

import (
	"reflect"
	"strings"
)

// sizes measures the logical bytes of rows: of everything, and of each heavy
// leaf by its column.
type sizes struct {
	fields []sizeField
	total  int64
	heavy  []int64 // by column; only those of heavy leaves are kept
}

// sizeField says how one field of a struct counts.
type sizeField struct {
	index  int
	column int         // of a heavy leaf, else -1
	fixed  int64       // bytes of a value, or of an element of a list
	fields []sizeField // of the struct, or of each element of a list
}

// newSizes prepares to measure rows of a type whose leaves are the columns.
func newSizes(t reflect.Type, columns [][]string) *sizes {
	heavyAt := map[string]int{}
	for i, path := range columns {
		if name := columnName(path); heavy[name] {
			heavyAt[name] = i
		}
	}
	return &sizes{fields: sizeFields(t, "", heavyAt), heavy: make([]int64, len(columns))}
}

func sizeFields(t reflect.Type, prefix string, heavyAt map[string]int) []sizeField {
	var out []sizeField
	for i := range t.NumField() {
		sf := t.Field(i)
		name, _, _ := strings.Cut(sf.Tag.Get("parquet"), ",")
		if !sf.IsExported() || name == "-" {
			continue
		}
		f := sizeField{index: i, column: -1}
		if c, ok := heavyAt[prefix+name]; ok {
			f.column = c
		}
		elem := sf.Type
		for elem.Kind() == reflect.Slice || elem.Kind() == reflect.Pointer {
			elem = elem.Elem()
		}
		if elem.Kind() == reflect.Struct {
			f.fields = sizeFields(elem, prefix+name+".", heavyAt)
		} else {
			f.fixed = int64(elem.Size())
		}
		out = append(out, f)
	}
	return out
}

// measure replaces what was measured before.
func (s *sizes) measure(row reflect.Value) {
	s.total = 0
	clear(s.heavy)
	s.object(row, s.fields)
}

func (s *sizes) add(f *sizeField, n int64) {
	s.total += n
	if f.column >= 0 {
		s.heavy[f.column] += n
	}
}

func (s *sizes) object(v reflect.Value, fields []sizeField) {
	for i := range fields {
		s.value(v.Field(fields[i].index), &fields[i])
	}
}

func (s *sizes) value(v reflect.Value, f *sizeField) {
	switch v.Kind() {
	case reflect.String:
		s.add(f, int64(v.Len()))
	case reflect.Pointer:
		if !v.IsNil() {
			s.value(v.Elem(), f)
		}
	case reflect.Struct:
		s.object(v, f.fields)
	case reflect.Slice:
		s.list(v, f)
	default:
		s.add(f, f.fixed)
	}
}

func (s *sizes) list(v reflect.Value, f *sizeField) {
	switch v.Type().Elem().Kind() {
	case reflect.Struct, reflect.String, reflect.Pointer, reflect.Slice:
		for i := range v.Len() {
			s.value(v.Index(i), f)
		}
	default:
		s.add(f, int64(v.Len())*f.fixed)
	}
}
