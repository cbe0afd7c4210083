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
