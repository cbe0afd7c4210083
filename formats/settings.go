package formats

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Settings are what a trainer is told about how to train, by the names of its
// flags: what decides the outcome beside the rows. No addresses, no keys, no
// time limits. They are part of the key under which a submission is
// remembered, and are stored so that a change can be named.
type Settings map[string]string

// Add notes one setting, as JSON. Nil, empty and zero values are left out.
func (s Settings) Add(name string, v any) {
	if r := reflect.ValueOf(v); !r.IsValid() || r.IsZero() || (r.Kind() == reflect.Map || r.Kind() == reflect.Slice) && r.Len() == 0 {
		return
	}
	data, err := json.Marshal(v)
	if err != nil {
		data = fmt.Append(nil, v)
	}
	s[name] = string(data)
}

// AddAll notes settings whose names a user chose. Numbers and booleans are
// kept as they are; of anything else, which may hold a secret, the slow digest.
func AddAll[V any](s Settings, prefix string, all map[string]V) {
	for name, v := range all {
		data, err := json.Marshal(v)
		if err != nil {
			data = fmt.Append(nil, v)
		}
		if text, is := any(v).(string); is { // numbers may come as text
			var plain any
			if json.Unmarshal([]byte(text), &plain) == nil {
				data = []byte(text)
			}
		}
		switch data[0] {
		case 't', 'f', 'n', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		default:
			data = []byte(SlowDigest(name, string(data)))
		}
		s[prefix+"."+name] = string(data)
	}
}

// Differences says what changed from one to the other, sorted by name.
func (s Settings) Differences(now Settings) []string {
	names := maps.Clone(s)
	if names == nil {
		names = Settings{}
	}
	maps.Copy(names, now)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, had := s[name]
		is, has := now[name]
		switch {
		case had && has && was == is:
		case !had:
			out = append(out, fmt.Sprintf("%s was not set, is %s", name, shown(is)))
		case !has:
			out = append(out, fmt.Sprintf("%s was %s, is not set", name, shown(was)))
		case shown(was) == shown(is):
			out = append(out, name+" is another")
		default:
			out = append(out, fmt.Sprintf("%s was %s, is %s", name, shown(was), shown(is)))
		}
	}
	return out
}

func shown(value string) string {
	if len(value) > len(digested) && value[:len(digested)] == digested {
		return "a text"
	}
	return value
}
