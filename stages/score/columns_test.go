package score

import (
	"reflect"
	"testing"

	"github.com/rollmill/rollmill/formats"
)

// TestColumnsAreThoseOfATrajectory: a column read here has the type and the
// tag it has in the wide row, and none is forgotten on the way.
func TestColumnsAreThoseOfATrajectory(t *testing.T) {
	sameColumns(t, reflect.TypeFor[light](), reflect.TypeFor[formats.Trajectory]())
	sameColumns(t, reflect.TypeFor[head](), reflect.TypeFor[formats.Trajectory]())
	sameColumns(t, reflect.TypeFor[text](), reflect.TypeFor[formats.Trajectory]())
	sameColumns(t, reflect.TypeFor[textMessage](), reflect.TypeFor[formats.Message]())
	sameColumns(t, reflect.TypeFor[textCall](), reflect.TypeFor[formats.Call]())
}

func sameColumns(t *testing.T, some, all reflect.Type) {
	t.Helper()
	for _, f := range reflect.VisibleFields(some) {
		if f.Anonymous {
			continue
		}
		of, ok := all.FieldByName(f.Name)
		switch {
		case !ok:
			t.Errorf("%s.%s: %s has no such column", some, f.Name, all)
		case f.Tag.Get("parquet") != of.Tag.Get("parquet"):
			t.Errorf("%s.%s: tag %q, not %q", some, f.Name, f.Tag, of.Tag)
		case f.Type != of.Type && f.Type.Kind() != reflect.Slice:
			t.Errorf("%s.%s: type %s, not %s", some, f.Name, f.Type, of.Type)
		}
	}
}

func TestConversionKeepsEveryColumn(t *testing.T) {
	var l light
	fill(reflect.ValueOf(&l).Elem())
	sameValues(t, reflect.ValueOf(l), reflect.ValueOf(trajectory(l.trajectory)))
	var h head
	fill(reflect.ValueOf(&h).Elem())
	sameValues(t, reflect.ValueOf(h), reflect.ValueOf(trajectory(h.trajectory)))
	var w text
	fill(reflect.ValueOf(&w).Elem())
	sameValues(t, reflect.ValueOf(w), reflect.ValueOf(trajectory(w.trajectory)))
}

func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("filled")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Struct:
		for i := range v.NumField() {
			if !v.Type().Field(i).Anonymous {
				fill(v.Field(i))
			}
		}
	}
}

func sameValues(t *testing.T, some, all reflect.Value) {
	t.Helper()
	for _, f := range reflect.VisibleFields(some.Type()) {
		if f.Anonymous {
			continue
		}
		name := f.Name
		a, b := some.FieldByName(name), all.FieldByName(name)
		if a.Kind() == reflect.Slice && a.Type().Elem() != b.Type().Elem() {
			sameValues(t, a.Index(0), b.Index(0))
		} else if !reflect.DeepEqual(a.Interface(), b.Interface()) {
			t.Errorf("%s.%s is lost: %v", some.Type(), name, b)
		}
	}
}

func trajectory(set func(*formats.Trajectory)) (t formats.Trajectory) {
	set(&t)
	return t
}
