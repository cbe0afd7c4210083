package backends

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Identity is the settings, by tag, that decide the outcome besides the rows.
// It has no addresses, no keys, and no time limits. It is part of the key of a
// submission, and is stored so that a change can be named.
type Identity map[string]string

// Add adds one setting, as JSON. Nil, empty and zero values are left out.
func (s Identity) Add(name string, v any) {
	if r := reflect.ValueOf(v); !r.IsValid() || r.IsZero() ||
		(r.Kind() == reflect.Map || r.Kind() == reflect.Slice) && r.Len() == 0 {
		return
	}
	s[name] = string(asJSON(v))
}

// asJSON returns a value as JSON, or otherwise in the form of fmt.
func asJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Append(nil, v)
	}
	return data
}

// AddAll adds settings whose names a user chose. Numbers and booleans are kept;
// any other value may hold a secret, and is replaced by its slow digest.
func AddAll[V any](s Identity, prefix string, all map[string]V) {
	for name, v := range all {
		data := asJSON(v)
		if text, is := any(v).(string); is { // numbers may be given as text
			var plain any
			if json.Unmarshal([]byte(text), &plain) == nil {
				data = []byte(text)
			}
		}
		switch data[0] {
		case 't', 'f', 'n', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		default:
			data = []byte(stages.SlowDigest(name, string(data)))
		}
		s[prefix+"."+name] = string(data)
	}
}

// IdentityOf returns the identity of settings: those declared with a tag that
// differ from the fresh ones, and those that are always included. Zero values
// are left out, except numbers that were given.
func IdentityOf(settings, fresh plugin.Settings) Identity {
	out := Identity{}
	initial := plugin.Declared(fresh)
	for i, s := range plugin.Declared(settings) {
		v := s.Value()
		if s.Tag == "" || v == nil || !s.Always && reflect.DeepEqual(v, initial[i].Value()) {
			continue
		}
		switch v := v.(type) {
		case map[string]any:
			AddAll(out, s.Tag, v)
		case map[string]string:
			AddAll(out, s.Tag, v)
		case interface {
			Identity(add func(name string, v any))
		}:
			v.Identity(func(name string, v any) {
				if all, ok := v.(map[string]any); ok {
					AddAll(out, s.Tag, all)
				} else {
					out.Add(s.Tag+"."+name, v)
				}
			})
		default:
			if s.Optional { // a zero that was given counts
				out.Add(s.Tag, &v)
				continue
			}
			out.Add(s.Tag, v)
		}
	}
	return out
}

// Differences lists what changed from s to now, sorted by name.
func (s Identity) Differences(now Identity) []string {
	names := maps.Clone(s)
	if names == nil {
		names = Identity{}
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
			out = append(out, name+" changed")
		default:
			out = append(out, fmt.Sprintf("%s was %s, is %s", name, shown(was), shown(is)))
		}
	}
	return out
}

func shown(value string) string {
	if stages.IsSlowDigest(value) {
		return "a text"
	}
	return value
}
