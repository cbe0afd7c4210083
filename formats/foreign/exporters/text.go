package exporters

import (
	"reflect"
	"unicode/utf8"
	"unsafe" // checks every text of each exported row, by the offsets of fields

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/schema"
)

// ValidText reports whether all texts of a row are UTF-8. JSON has no other, and
// a writer of it puts U+FFFD in place of other bytes.
func ValidText(t *formats.Trajectory) bool { return validRow(unsafe.Pointer(t)) }

var validRow = validOf(reflect.TypeFor[formats.Trajectory]())

// validOf returns a function that checks the value at an address; nil for a type
// without texts.
func validOf(t reflect.Type) func(unsafe.Pointer) bool {
	switch t.Kind() {
	case reflect.String:
		return func(at unsafe.Pointer) bool { return utf8.ValidString(*(*string)(at)) }
	case reflect.Slice:
		inner, size := validOf(t.Elem()), t.Elem().Size()
		if inner == nil {
			return nil
		}
		return func(at unsafe.Pointer) bool {
			first, n := *(*unsafe.Pointer)(at), len(*(*[]struct{})(at))
			for i := range n {
				if !inner(unsafe.Add(first, uintptr(i)*size)) {
					return false
				}
			}
			return true
		}
	case reflect.Struct:
		return validFields(schema.FieldsOf(t))
	}
	return nil
}

// fieldCheck checks a field that is not a string.
type fieldCheck struct {
	offset uintptr
	valid  func(unsafe.Pointer) bool
}

func validFields(fields []schema.Field) func(unsafe.Pointer) bool {
	var texts []uintptr // most fields are, and most of those are empty
	var others []fieldCheck
	for _, f := range fields {
		if f.Type.Kind() == reflect.String {
			texts = append(texts, f.Offset)
		} else if check := validOf(f.Type); check != nil {
			others = append(others, fieldCheck{f.Offset, check})
		}
	}
	return func(at unsafe.Pointer) bool {
		for _, offset := range texts {
			if s := *(*string)(unsafe.Add(at, offset)); s != "" && !utf8.ValidString(s) {
				return false
			}
		}
		for _, c := range others {
			if !c.valid(unsafe.Add(at, c.offset)) {
				return false
			}
		}
		return true
	}
}
