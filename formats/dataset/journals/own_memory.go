package journals

import (
	"reflect"
	"strings"
)

// detach gives a row memory of its own: one that was read shares that of its
// page, which it would keep in memory with the texts and tokens of all others.
func detach[T any](row *T) { detachValue(reflect.ValueOf(row).Elem()) }

func detachValue(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(strings.Clone(v.String()))
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				detachValue(f)
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			own := reflect.New(v.Type().Elem())
			own.Elem().Set(v.Elem())
			detachValue(own.Elem())
			v.Set(own)
		}
	case reflect.Slice:
		if v.IsNil() {
			return
		}
		own := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(own, v)
		switch v.Type().Elem().Kind() {
		case reflect.String, reflect.Struct, reflect.Pointer, reflect.Slice:
			for i := range own.Len() {
				detachValue(own.Index(i))
			}
		}
		v.Set(own)
	}
}
