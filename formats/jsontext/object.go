package jsontext

import "slices"

// Object is a JSON object with its members in order.
type Object []Member

// Member is a member of an object; Raw is its value's text.
type Member struct {
	Key string
	Raw []byte
}

// ParseObject splits a valid JSON object; nil for any other value. A key that is
// repeated has its last value, as in Python.
func ParseObject(b []byte) Object {
	var built Builder
	for k, v := range Members(b) {
		built.Set(string(k), v)
	}
	return built.Object
}

// Get returns the value of a key, nil when it is missing.
func (o Object) Get(key string) []byte {
	for i := range o {
		if o[i].Key == key {
			return o[i].Raw
		}
	}
	return nil
}

// Has reports whether a key is present with a value other than null.
func (o Object) Has(key string) bool {
	raw := o.Get(key)
	return raw != nil && string(raw) != "null"
}

// Set replaces the value of a key, or appends it.
func (o *Object) Set(key string, raw []byte) {
	for i := range *o {
		if (*o)[i].Key == key {
			(*o)[i].Raw = raw
			return
		}
	}
	*o = append(*o, Member{key, raw})
}

// With returns a copy in which a key, if present, has another value.
func (o Object) With(key string, raw []byte) Object {
	o = slices.Clone(o)
	if o.Get(key) != nil {
		o.Set(key, raw)
	}
	return o
}

// First returns the first of some members that is there and not null; nil for none.
func (o Object) First(keys ...string) []byte {
	for _, k := range keys {
		if o.Has(k) {
			return o.Get(k)
		}
	}
	return nil
}

// Drop removes members and reports whether there was one.
func (o *Object) Drop(keys ...string) bool {
	before := len(*o)
	*o = slices.DeleteFunc(*o, func(m Member) bool { return slices.Contains(keys, m.Key) })
	return len(*o) < before
}

func (o Object) Bytes() []byte {
	size := 2
	for _, m := range o {
		size += len(m.Key) + len(m.Raw) + 4
	}
	out := append(make([]byte, 0, size), '{')
	for i, m := range o {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(AppendString(out, m.Key), ':'), m.Raw...)
	}
	return append(out, '}')
}
