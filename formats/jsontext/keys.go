package jsontext

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Unmarshal is that of package encoding/json, and CheckKeys.
func Unmarshal(data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return err
	}
	return CheckKeys(data, v)
}

// CheckKeys returns an error if a valid object has the key of a field of the
// struct v twice, or in other letters, which package encoding/json would accept
// for it: what such an object says depends on its reader. v may be a pointer. Keys
// that no field has are not looked at; the objects in fields are.
func CheckKeys(object []byte, v any) error { return checkKeys(object, reflect.TypeOf(v)) }

func checkKeys(value []byte, t reflect.Type) error {
	switch t.Kind() {
	case reflect.Pointer:
		return checkKeys(value, t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return nil
		}
		for e := range Elements(value) {
			if err := checkKeys(e, t.Elem()); err != nil {
				return err
			}
		}
		return nil
	case reflect.Struct:
	default:
		return nil
	}
	var seen []string
	for key, value := range Members(value) {
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			switch {
			case name == "" || !strings.EqualFold(name, string(key)):
				continue
			case name != string(key):
				return fmt.Errorf("the key %q has to be written %q", key, name)
			case slices.Contains(seen, name):
				return fmt.Errorf("the key %q is there twice", key)
			}
			seen = append(seen, name)
			if err := checkKeys(value, t.Field(i).Type); err != nil {
				return err
			}
		}
	}
	return nil
}
