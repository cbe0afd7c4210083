package plugin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Restore sets the settings that decide rows to what params has for them, as Identity
// wrote it: those of the plug-ins that s chooses among, too, and those without a tag that a
// stage put under their name. A switch of which params has an object is on. What params lacks keeps its value, and what has no text,
// such as a struct, is left to the caller, who sees from the identity of what is made
// whether all was restored.
func Restore(s Settings, params map[string]any) error {
	for _, x := range Declared(s) {
		value, found := at(params, cmp.Or(x.Tag, x.Name))
		_, object := value.(map[string]any)
		if object && x.Type == Switch {
			value, object = true, false
		}
		texts, has := textsOf(value)
		if !found || !has || object && !x.Repeats {
			continue
		}
		if !x.Repeats {
			texts = []string{strings.Join(texts, ",")}
		}
		if err := x.Set(texts...); err != nil {
			return fmt.Errorf("%s: %w", x.Name, err)
		}
	}
	return nil
}

// at returns the value under a tag.
func at(params map[string]any, tag string) (value any, found bool) {
	outer, inner, nested := strings.Cut(tag, ".")
	value, found = params[outer]
	if object, is := value.(map[string]any); nested && is {
		return at(object, inner)
	}
	return value, found && !nested
}

// pairOf returns NAME=NUMBER for an object of a text and a number, as settings of shares hold.
func pairOf(object map[string]any) (text string, is bool) {
	var name, number string
	for _, value := range object {
		switch v := value.(type) {
		case string:
			name = v
		case json.Number:
			number = v.String()
		}
	}
	return name + "=" + number, len(object) == 2 && name != "" && number != ""
}

// textsOf returns the texts that a setting reads a value from; false for null.
func textsOf(value any) (texts []string, has bool) {
	switch v := value.(type) {
	case nil:
		return nil, false
	case string:
		return []string{v}, true
	case []any:
		for _, one := range v {
			text, _ := textsOf(one)
			texts = append(texts, text...)
		}
		return texts, true
	case map[string]any:
		if text, pair := pairOf(v); pair {
			return []string{text}, true
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			data, err := json.Marshal(v[name])
			if text, is := v[name].(string); is {
				data = []byte(text)
			}
			if err != nil {
				return nil, false
			}
			texts = append(texts, name+"="+string(data))
		}
		return texts, true
	}
	return []string{fmt.Sprint(value)}, true
}
