package score

import (
	"fmt"
	"slices"
	"strings"
)

// Arguments are a spec's arguments in the form that most kinds use:
//
//	MODE,key=value,key=value,text=everything that follows, commas too
type Arguments struct {
	Mode   string // the first word, when it has no =; else ""
	values map[string]string
}

// ParseArguments reads them; keys are those that may be there, and text is
// always one's own choice among them.
func ParseArguments(text string, keys ...string) (Arguments, error) {
	a := Arguments{values: map[string]string{}}
	rest := strings.TrimSpace(text)
	if first, more, _ := strings.Cut(rest, ","); !strings.Contains(first, "=") {
		a.Mode, rest = strings.TrimSpace(first), more
	}
	for rest != "" {
		key, value, ok := strings.Cut(strings.TrimLeft(rest, " "), "=")
		if rest = ""; key != "text" {
			value, rest, _ = strings.Cut(value, ",")
			value = strings.TrimSpace(value)
		}
		if !ok || !slices.Contains(keys, key) {
			return a, fmt.Errorf("%q is not one of the options %s", key, strings.Join(keys, ", "))
		}
		if _, twice := a.values[key]; twice {
			return a, fmt.Errorf("%s is given twice", key)
		}
		a.values[key] = value
	}
	return a, nil
}

// Value is what a key was given, or otherwise.
func (a Arguments) Value(key, otherwise string) string {
	if v, ok := a.values[key]; ok {
		return v
	}
	return otherwise
}

// Has tells whether a key was given.
func (a Arguments) Has(key string) bool { _, ok := a.values[key]; return ok }
