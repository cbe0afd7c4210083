package plugin

import (
	"reflect"
	"slices"
	"strings"
)

// Identity returns what settings contribute to a dataset's identity: by tag, the values that
// differ from those of fresh settings of the same type, and those declared with IDAlways.
// Settings of plug-ins that s chooses among are not included; each plug-in has its own.
func Identity(s, fresh Settings) map[string]any {
	out := map[string]any{}
	initial := own(fresh)
	for i, x := range own(s) {
		if x.Tag != "" && (x.Always || !reflect.DeepEqual(x.Value(), initial[i].Value())) {
			Put(out, x.Tag, x.Value())
		}
	}
	return out
}

// own returns the settings that belong to no plug-in that s chooses among.
func own(s Settings) []*Setting {
	return slices.DeleteFunc(Declared(s), func(x *Setting) bool { return x.Owner != nil })
}

// Changed returns the names of the settings that differ from fresh ones.
func Changed(s, fresh Settings) []string {
	var out []string
	initial := Declared(fresh)
	for i, x := range Declared(s) {
		if !reflect.DeepEqual(x.Value(), initial[i].Value()) {
			out = append(out, x.Name)
		}
	}
	return out
}

// Put sets a value under a tag; a dot in the tag makes an object.
func Put(params map[string]any, tag string, value any) {
	if outer, inner, nested := strings.Cut(tag, "."); nested {
		object, ok := params[outer].(map[string]any)
		if !ok {
			object = map[string]any{}
			params[outer] = object
		}
		Put(object, inner, value)
		return
	}
	params[tag] = value
}
