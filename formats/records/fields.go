package records

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/rollmill/rollmill/formats/jsontext"
)

// Fields splits a JSON object into its values and its keys in order. When a key
// is there twice, the last value is used, as in Python.
func Fields(object json.RawMessage) (map[string]json.RawMessage, []string, error) {
	values, keys := map[string]json.RawMessage{}, []string(nil)
	err := jsontext.Each(object, func(key, v []byte) {
		name := string(key)
		if _, twice := values[name]; !twice {
			keys = append(keys, name)
		}
		values[name] = v
	})
	return values, keys, err
}

func brief(b []byte) string {
	const limit = 40
	if b = bytes.TrimSpace(b); len(b) > limit {
		return fmt.Sprintf("%q…", b[:limit])
	}
	return fmt.Sprintf("%q", b)
}

// Text returns a JSON value as text: a string's content, "" for null and for no
// value, and every other value as written.
func Text(v json.RawMessage) string {
	var s string
	switch {
	case len(v) == 0 || string(v) == "null":
		return ""
	case v[0] == '"':
		if json.Unmarshal(v, &s) == nil {
			return s
		}
	}
	var compact bytes.Buffer
	if json.Compact(&compact, v) != nil {
		return string(v)
	}
	return compact.String()
}
