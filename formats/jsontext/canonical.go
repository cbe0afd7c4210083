package jsontext

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
)

// Same reports whether two texts are equal as JSON.
func Same(a, b string) bool {
	x, ok := Canonical(a)
	y, ok2 := Canonical(b)
	return ok && ok2 && bytes.Equal(x, y)
}

// Canonical returns JSON with its keys in order and its numbers in one form.
func Canonical(text string) (out []byte, ok bool) {
	if !json.Valid([]byte(text)) {
		return nil, false
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil, false
	}
	out, err := json.Marshal(withNumbers(v))
	return out, err == nil
}

// withNumbers returns a decoded value with floats for its numbers, except whole
// numbers that a float cannot represent.
func withNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = withNumbers(v[key])
		}
	case []any:
		for i := range v {
			v[i] = withNumbers(v[i])
		}
	case json.Number:
		const exact = 1 << 53
		if f, err := v.Float64(); err == nil && (math.Abs(f) < exact || strings.ContainsAny(string(v), ".eE")) {
			return f
		}
	}
	return v
}
