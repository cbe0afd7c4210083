package schema

import (
	"reflect"
	"slices"
	"testing"
	"unsafe"
)

func TestFieldsOf(t *testing.T) {
	type inner struct {
		A string `parquet:"a,optional"`
		B int32  // without a tag
	}
	type row struct {
		First int64 `parquet:"first,delta"`
		inner
		Named   inner   `parquet:"named" rollmill:"payload"`
		List    []inner `parquet:"list,optional,list" rollmill:"payload,volatile"`
		Skipped string  `parquet:"-"`
		hidden  string  `parquet:"hidden"`
	}
	var r row
	r.hidden = "" // it is used
	at := unsafe.Offsetof(r.inner)
	text, group := reflect.TypeFor[string](), reflect.TypeFor[inner]()
	want := []Field{
		{Name: "first", Type: reflect.TypeFor[int64](), Offset: unsafe.Offsetof(r.First)},
		{Name: "a", Type: text, Offset: at + unsafe.Offsetof(r.inner.A), Optional: true},
		{Name: "B", Type: reflect.TypeFor[int32](), Offset: at + unsafe.Offsetof(r.inner.B)},
		{Name: "named", Type: group, Offset: unsafe.Offsetof(r.Named), Payload: true},
		{Name: "list", Type: reflect.SliceOf(group), Offset: unsafe.Offsetof(r.List), Optional: true, Payload: true, Volatile: true},
	}
	got := FieldsOf(reflect.TypeFor[row]())
	if !slices.Equal(got, want) {
		t.Errorf("fields %+v, want %+v", got, want)
	}
	for _, f := range got {
		made := reflect.StructOf([]reflect.StructField{{Name: "C", Type: f.Type, Tag: f.Tag()}})
		if back := FieldsOf(made)[0]; back.Name != f.Name || back.Payload != f.Payload || back.Volatile != f.Volatile {
			t.Errorf("the tag %q is read as %+v", f.Tag(), back)
		}
	}
}
