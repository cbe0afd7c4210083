package plugin

import (
	"reflect"
	"regexp"
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

// FromReceipt declares what a receipt remembers of a setting that identifies a trainer, so that
// every reader of the receipt can query the job: record returns the setting's text from the
// trainer's address and model as the receipt has them, "" for none, and for a setting that
// repeats its texts joined by "+". Receipts contain no keys and no other settings.
func (s *Setting) FromReceipt(record func(address, model string) string) *Setting {
	s.record = record
	return s
}

// Address is the record of a setting that holds the trainer's address.
func Address(address, _ string) string { return address }

// InModel is the record of a setting that is a part of the trainer's model: what the
// first group of a regular expression matches.
func InModel(pattern string) func(address, model string) string {
	return func(_, model string) string {
		if m := regexp.MustCompile(pattern).FindStringSubmatch(model); m != nil {
			return m[1]
		}
		return ""
	}
}

// Adopt gives the settings declared with FromReceipt their texts from a receipt,
// except those that the user gave. A text that a setting refuses is ignored: the
// receipt is older, or from another program.
func Adopt(s Settings, given func(name string) bool, address, model string) {
	for _, x := range Declared(s) {
		if x.record == nil || given(x.Name) {
			continue
		}
		if text := x.record(address, model); text != "" {
			_ = x.Set(x.texts(text)...) // if refused, the setting keeps its value
		}
	}
}

func (s *Setting) texts(joined string) []string {
	if s.Repeats {
		return strings.Split(joined, "+")
	}
	return []string{joined}
}
