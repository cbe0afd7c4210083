package secret

import (
	"bytes"
	"encoding/json"
	"reflect"
	"sync"
)

// Value redacts every text that is reachable from v, a pointer: strings, bytes,
// and those in structs, slices, maps and interfaces. It returns how many values
// it replaced. What others may hold too is not changed: a slice, a map or a
// pointer with a value below it becomes a copy. Unexported fields are not changed.
func (s *Set) Value(v any) int {
	if !s.Known() {
		return 0
	}
	n := s.walker().change(reflect.ValueOf(v).Elem())
	s.replaced.Add(int64(n))
	return n
}

// walker changes the texts below a value.
type walker struct {
	text func(string) (string, int)
	json func([]byte) ([]byte, int) // of a json.RawMessage
	look bool                       // count, and copy and change nothing
}

func (s *Set) walker() walker { return walker{text: s.redact, json: s.json} }

// change is walk of a value in which there is seldom something to change: it looks first, because walk copies what
// it walks.
func (w walker) change(v reflect.Value) int {
	if w.looking().walk(v) == 0 {
		return 0
	}
	return w.walk(v)
}

func (w walker) looking() walker {
	w.look = true
	return w
}

// JSON redacts the strings of a JSON text, including keys, and keeps it valid.
// Text that is not JSON is redacted as text.
func (s *Set) JSON(data []byte) []byte {
	if !s.Known() {
		return data
	}
	out, n := s.json(data)
	if n == 0 {
		return data
	}
	s.replaced.Add(int64(n))
	return out
}

func (s *Set) json(data []byte) ([]byte, int) {
	text, n := s.redact(string(data))
	if n == 0 || json.Valid([]byte(text)) || !json.Valid(data) {
		return []byte(text), n
	}
	dec := json.NewDecoder(bytes.NewReader(data)) // a value was outside quotes
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return []byte(text), n
	}
	n = s.walker().change(reflect.ValueOf(&v).Elem())
	out, err := json.Marshal(v)
	if err != nil {
		return []byte(text), n
	}
	return out, n
}

var rawType = reflect.TypeFor[json.RawMessage]()

// walk redacts below a value that can be set.
func (w walker) walk(v reflect.Value) (n int) {
	t := v.Type()
	if !holdsText(t) {
		return 0
	}
	switch v.Kind() {
	case reflect.String:
		text, n := w.text(v.String())
		if n > 0 && !w.look && v.CanSet() {
			v.SetString(text)
		}
		return n
	case reflect.Pointer:
		if v.IsNil() {
			return 0
		}
		if w.look {
			return w.walk(v.Elem())
		}
		own := reflect.New(t.Elem())
		own.Elem().Set(v.Elem())
		if n = w.walk(own.Elem()); n > 0 {
			v.Set(own)
		}
	case reflect.Interface:
		return w.walkInterface(v)
	case reflect.Slice:
		return w.walkSlice(v)
	case reflect.Array:
		for i := range v.Len() {
			n += w.walk(v.Index(i))
		}
	case reflect.Map:
		return w.walkMap(v)
	case reflect.Struct:
		for _, i := range textFields(t) {
			n += w.walk(v.Field(i))
		}
	}
	return n
}

// walkInterface replaces the value in an interface, which cannot be set in place.
func (w walker) walkInterface(v reflect.Value) int {
	if v.IsNil() {
		return 0
	}
	inner := v.Elem()
	if number, ok := inner.Interface().(json.Number); ok {
		if len(number) < Short {
			return 0 // a short number is not a secret
		}
		text, n := w.text(number.String())
		if n > 0 && !w.look && v.CanSet() {
			v.Set(reflect.ValueOf(text))
		}
		return n
	}
	if w.look {
		return w.walk(inner)
	}
	own := reflect.New(inner.Type()).Elem()
	own.Set(inner)
	n := w.walk(own)
	if n > 0 && v.CanSet() {
		v.Set(own)
	}
	return n
}

func (w walker) walkSlice(v reflect.Value) (n int) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		if v.Len() == 0 {
			return 0
		}
		var data []byte
		if v.Type() == rawType {
			data, n = w.json(v.Bytes())
		} else {
			var text string
			text, n = w.text(string(v.Bytes()))
			data = []byte(text)
		}
		if n > 0 && !w.look && v.CanSet() {
			v.SetBytes(data)
		}
		return n
	}
	if w.look {
		for i := range v.Len() {
			n += w.walk(v.Index(i))
		}
		return n
	}
	own := reflect.New(v.Type().Elem()).Elem()
	for i := range v.Len() {
		own.Set(v.Index(i))
		found := w.walk(own)
		if found > 0 && n == 0 {
			v.Set(reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), v))
		}
		if found > 0 {
			v.Index(i).Set(own)
		}
		n += found
	}
	return n
}

func (w walker) walkMap(v reflect.Value) (n int) {
	if w.look {
		for each := v.MapRange(); each.Next(); {
			n += w.walk(each.Key()) + w.walk(each.Value())
		}
		return n
	}
	for _, key := range v.MapKeys() {
		k, value := reflect.New(key.Type()).Elem(), reflect.New(v.Type().Elem()).Elem()
		k.Set(key)
		value.Set(v.MapIndex(key))
		inKey := w.walk(k)
		found := inKey + w.walk(value)
		if found > 0 && n == 0 {
			all := reflect.MakeMapWithSize(v.Type(), v.Len())
			for each := v.MapRange(); each.Next(); {
				all.SetMapIndex(each.Key(), each.Value())
			}
			v.Set(all)
		}
		if n += found; found == 0 {
			continue
		}
		if inKey > 0 {
			v.SetMapIndex(key, reflect.Value{})
		}
		v.SetMapIndex(k, value)
	}
	return n
}

// fields caches, for a struct type, the fields that lead to texts.
var fields sync.Map // reflect.Type -> []int

func textFields(t reflect.Type) []int {
	if known, ok := fields.Load(t); ok {
		return known.([]int)
	}
	out := []int{}
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && holdsText(f.Type) {
			out = append(out, i)
		}
	}
	fields.Store(t, out)
	return out
}

// holdsText reports whether a value of the type may lead to a text. Token ids
// and logprobs, which are most of a row, do not.
func holdsText(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Interface, reflect.Map, reflect.Struct:
		return true
	case reflect.Slice:
		return t.Elem().Kind() == reflect.Uint8 || holdsText(t.Elem())
	case reflect.Pointer, reflect.Array:
		return holdsText(t.Elem())
	}
	return false
}
