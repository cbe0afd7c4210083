package chat

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// said returns a message; its content is JSON.
func said(role string, content []byte) []byte {
	return append(append(fmt.Appendf(nil, `{"role":%q,"content":`, role), content...), '}')
}

func elements(list []byte) [][]byte { return slices.Collect(jsontext.Elements(list)) }

// same reports whether messages are equal, whatever the order of their members.
func same(a, b []byte) bool {
	if string(a) == string(b) {
		return true
	}
	var x, y Reader
	if !x.reads(a) || !y.reads(b) || len(x.other) != len(y.other) {
		return false
	}
	for i := range x.other {
		if x.other[i].key != y.other[i].key || string(x.other[i].value) != string(y.other[i].value) {
			return false
		}
	}
	return reflect.DeepEqual(x.Messages, y.Messages)
}

// reads adds a message as input, and reports whether it is one.
func (c *Reader) reads(raw []byte) bool { return must.Try(func() { c.AddMessage(raw, false) }) }

// sameJSON reports whether values are equal but for space.
func sameJSON(a, b []byte) bool {
	return string(a) == string(b) || jsontext.Compact(a) == jsontext.Compact(b)
}
