package manifest

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/rollmill/rollmill/storage/fault"
)

// CheckText refuses parameters and file names that are not UTF-8: encoded as
// JSON they would be equal to others and share their identity.
func (s Spec) CheckText(place string) error {
	refuse := func(what, name string) error {
		return fault.Invalid(place, "write it as UTF-8", nil, "%s %q is not UTF-8", what, name)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Params)) {
		data, err := json.Marshal(s.Params[name])
		if err != nil {
			return fault.Invalid(place, "", err, "parameter %q is not JSON", name)
		}
		if !utf8.ValidString(name) || !utf8.Valid(data) || replaced.Match(data) {
			return refuse("parameter", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		if !utf8.ValidString(name) {
			return refuse("the name of file", name)
		}
	}
	return nil
}

// replaced finds what encoding/json inserts for bytes that are not UTF-8. It writes
// the same character unescaped when it is in the text.
var replaced = regexp.MustCompile(`(?:^|[^\\])(?:\\\\)*\\ufffd`)
