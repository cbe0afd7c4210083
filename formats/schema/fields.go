package schema

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unsafe" // the one place of fields by their offset
)

// Field is a field of a row type, or of a struct within one, as its tags
// describe it: a column, a group of columns, or a list of either. The tags are
//
//	parquet:"<name>,<options>" rollmill:"<marks>"
//
// Of the options only "optional" and "timestamp(microsecond)" matter here; the
// others tell parquet-go how to store the column.
type Field struct {
	Name     string // of the column
	Type     reflect.Type
	Offset   uintptr // in the struct
	Optional bool    // the column may be null
	Instant  bool    // microseconds since 1970, UTC
	Payload  bool    // payload_digest covers it
	Volatile bool    // no digest covers it
}

// Tag returns tags from which FieldsOf reads the field's name and marks.
func (f Field) Tag() reflect.StructTag {
	marks := ""
	if f.Payload {
		marks = "payload,"
	}
	if f.Volatile {
		marks += "volatile"
	}
	return reflect.StructTag(fmt.Sprintf("parquet:%q rollmill:%q", f.Name, marks))
}

var structs sync.Map // reflect.Type -> []Field

// FieldsOf returns the fields of a struct type that have columns, in the order
// of the struct; callers share the slice. It is the only parser of the tags. As
// in parquet-go, a field without a name in its tag has the name of the Go
// field, the fields of an embedded struct are those of the struct around it,
// whose own fields hide those of the same column, and unexported fields and
// those named "-" have no column.
func FieldsOf(t reflect.Type) []Field {
	if known, ok := structs.Load(t); ok {
		return known.([]Field)
	}
	var out []Field
	var embedded []string
	for i := range t.NumField() {
		sf := t.Field(i)
		name, rest, _ := strings.Cut(sf.Tag.Get("parquet"), ",")
		switch {
		case name == "-":
		case sf.Anonymous && name == "" && sf.Type.Kind() == reflect.Struct:
			for _, f := range FieldsOf(sf.Type) {
				f.Offset += sf.Offset
				out = append(out, f)
				embedded = append(embedded, f.Name)
			}
		case sf.IsExported():
			name = cmp.Or(name, sf.Name)
			if slices.Contains(embedded, name) {
				out = slices.DeleteFunc(out, func(f Field) bool { return f.Name == name })
			}
			options, marks := strings.Split(rest, ","), strings.Split(sf.Tag.Get("rollmill"), ",")
			out = append(out, Field{name, sf.Type, sf.Offset, slices.Contains(options, "optional"),
				slices.Contains(options, "timestamp(microsecond)"),
				slices.Contains(marks, "payload"), slices.Contains(marks, "volatile")})
		}
	}
	structs.Store(t, out)
	return out
}

// In returns the field of a row, which must be addressable.
func (f Field) In(row reflect.Value) reflect.Value {
	return reflect.NewAt(f.Type, unsafe.Add(row.Addr().UnsafePointer(), f.Offset)).Elem()
}
