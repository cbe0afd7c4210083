// Package fit makes of a message what a format can hold of it.
package fit

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/validate"
)

// Call returns the call that a message answered, nil for none.
func Call(t *formats.Trajectory, m *formats.Message) *formats.Call {
	if m.Call < 0 || int(m.Call) >= len(t.Calls) {
		return nil
	}
	return &t.Calls[m.Call]
}

// Role returns the role of a message, as one of those that chat templates know. Here
// and below, lose is told of what a form cannot hold (see Item.Lose).
func Role(m *formats.Message, lose func(part string)) string {
	role, known := chat.Role(m.Role)
	if !known {
		lose("role " + m.Role)
	}
	return role
}

// Parts returns the texts and images of the content.
func Parts(m *formats.Message, lose func(part string)) []chat.Part {
	parts, lost := chat.PartsOf(m)
	for _, kind := range lost {
		lose("content parts of type " + kind)
	}
	return parts
}

// Text returns the content as text.
func Text(m *formats.Message, lose func(part string)) string {
	text, lost := chat.Text(m)
	if len(lost) > 0 {
		lose("content parts of type " + strings.Join(lost, ", "))
	}
	return text
}

// Logprobs returns the log probabilities for a form whose JSON has no infinities:
// one that is not finite becomes the value that vLLM sends in its place.
func Logprobs(m *formats.Message, lose func(part string)) jsontext.Floats {
	infinite := func(f float32) bool { return math.IsNaN(float64(f)) || math.IsInf(float64(f), 0) }
	if !slices.ContainsFunc(m.Logprobs, infinite) {
		return m.Logprobs
	}
	lose("log probabilities that are not finite")
	out := slices.Clone(m.Logprobs)
	for i, f := range out {
		if infinite(f) {
			out[i] = validate.LogprobFloor
		}
	}
	return out
}

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
