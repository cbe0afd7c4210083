package exporters

import (
	"reflect"
	"unicode/utf8"

	"github.com/rollmill/rollmill/formats"
)

// ValidText reports whether all texts of a row are UTF-8. JSON has no other, and
// a writer of it puts U+FFFD in place of other bytes.
func ValidText(t *formats.Trajectory) bool { return valid(reflect.ValueOf(t).Elem()) }

func valid(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return utf8.ValidString(v.String())
	case reflect.Struct:
		for i := range v.NumField() {
			if !valid(v.Field(i)) {
				return false
			}
		}
	case reflect.Slice:
		if kind := v.Type().Elem().Kind(); kind != reflect.String && kind != reflect.Struct {
			return true
		}
		for i := range v.Len() {
			if !valid(v.Index(i)) {
				return false
			}
		}
	}
	return true
}
