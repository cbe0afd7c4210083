package jsontext

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
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

// Words returns the words of a member's name in small letters.
func Words(name string) []string {
	return strings.FieldsFunc(strings.ToLower(camel.ReplaceAllString(name, "${1}_${2}")), func(r rune) bool {
		return strings.ContainsRune("_-. ", r)
	})
}

var camel = regexp.MustCompile(`([a-z])([A-Z])`)

// Names remembers what is found out about names, of which there are few. It is safe for
// concurrent use.
type Names[T any] struct {
	of    func(name string) T
	known atomic.Pointer[map[string]T]
}

// NewNames returns what of says of names. It must not keep them.
func NewNames[T any](of func(name string) T) *Names[T] {
	n := &Names[T]{of: of}
	n.known.Store(&map[string]T{})
	return n
}

// Of returns what is found out about a name.
func (n *Names[T]) Of(name string) T {
	known := n.known.Load()
	if x, is := (*known)[name]; is {
		return x
	}
	x := n.of(name)
	const most, longest = 1000, 64 // names and bytes that are remembered
	if len(*known) < most && len(name) <= longest {
		more := maps.Clone(*known)
		more[strings.Clone(name)] = x
		n.known.CompareAndSwap(known, &more) // if another name came first, this one is looked at again
	}
	return x
}
