package importers

import (
	"bytes"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/records"
)

// How many rows and bytes of a file of JSON are looked at for nulls that were added.
const (
	maxLooked      = 200
	maxLookedBytes = 1 << 20
)

// addedNulls reports whether datasets wrote a file of JSON: it gives each object of a
// column the keys of all rows, with null for those that a row lacks. That is known if
// the arguments of all calls in the first rows have the same keys, some of them null,
// although a function never uses one that another uses, or a message that is no tool's
// has the id of a call, which is null. Other nulls of JSON are the source's.
func addedNulls(f records.File) bool {
	if !slices.Contains([]string{".json", ".jsonl", ".ndjson"}, records.Extension(f.Name)) {
		return false
	}
	s := argumentKeys{used: map[string]map[string]bool{}}
	looked, size := 0, 0
	for row, err := range f.Read("") {
		if looked, size = looked+1, size+len(row.Object); err != nil || looked > maxLooked || size > maxLookedBytes {
			break
		}
		if bytes.Contains(row.Object, []byte(`"arguments"`)) && jsontext.Valid(row.Object) {
			s.look(row.Object, 0)
		}
	}
	return s.null && !s.differ && (s.foreign || s.disjoint())
}

// argumentKeys is what the arguments of calls have in common.
type argumentKeys struct {
	all                   string                     // the keys of the first
	seen                  bool                       // there was one
	differ, null, foreign bool                       // others have other keys; one has a null; a message has a null id of a call
	used                  map[string]map[string]bool // keys with a value, by function
}

// look looks at the calls within a value.
func (s *argumentKeys) look(v []byte, depth int) {
	if depth > 64 {
		return
	}
	for e := range jsontext.Elements(v) {
		s.look(e, depth+1)
	}
	var name, role, id, arguments []byte
	for key, e := range jsontext.Members(v) {
		switch string(key) {
		case "name":
			name = e
		case "role":
			role = e
		case "tool_call_id":
			id = e
		case "arguments":
			arguments = e
		}
		if e[0] == '{' || e[0] == '[' {
			s.look(e, depth+1)
		}
	}
	s.foreign = s.foreign || string(id) == "null" && string(role) != `"tool"` && len(role) > 0
	if len(name) > 0 && len(arguments) > 0 && arguments[0] == '{' {
		s.call(string(name), arguments)
	}
}

func (s *argumentKeys) call(name string, arguments []byte) {
	var keys []string
	if s.used[name] == nil {
		s.used[name] = map[string]bool{}
	}
	for key, v := range jsontext.Members(arguments) {
		keys = append(keys, string(key))
		if string(v) == "null" {
			s.null = true
		} else {
			s.used[name][string(key)] = true
		}
	}
	all := strings.Join(keys, "\x00")
	s.differ = s.differ || s.seen && all != s.all
	s.all, s.seen = all, true
}

// disjoint reports whether a function never uses a key that another one uses.
func (s *argumentKeys) disjoint() bool {
	for _, a := range s.used {
		for _, b := range s.used {
			for key := range a {
				if !b[key] {
					return true
				}
			}
		}
	}
	return false
}
