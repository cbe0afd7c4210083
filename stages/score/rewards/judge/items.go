package judge

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage/fault"
)

// item is one of a rubric's. A negative one describes a fault: of x, 1 - x counts.
type item struct {
	name, text     string
	weight         float64
	negative, must bool // must: if less than half counts, the total is 0
}

// hasItems reports whether a rubric's file lists items. Its name alone says so.
func hasItems(name string) bool {
	return slices.Contains([]string{".yaml", ".yml"}, strings.ToLower(path.Ext(name)))
}

var itemName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`) // that of a part

const itemHint = `write "items:" and below it lines such as "- {name: rude, text: The answer is rude., weight: 2, polarity: negative, must-have: true}"`

// readItems reads a rubric's items. Nothing is taken for a value of another type.
func readItems(file, data string) (items []item, err error) {
	var list map[string][]map[string]any
	if err := yaml.Load([]byte(data), &list); err != nil {
		return nil, fault.Invalid(file, itemHint, nil, "it has no list of items: %v", err)
	}
	sum := 0.0
	for i, given := range list["items"] {
		x := item{weight: 1}
		for _, key := range slices.Sorted(maps.Keys(given)) {
			if hint, what := x.set(key, given[key]); what != "" {
				return nil, fault.Invalid(file, hint, nil, "item %d: %s", i+1, what)
			}
		}
		switch {
		case !itemName.MatchString(x.name):
			err = fmt.Errorf("the name %q is not letters, digits, _ and -", x.name)
		case slices.ContainsFunc(items, func(o item) bool { return o.name == x.name }):
			err = fmt.Errorf("another is named %q", x.name)
		case strings.TrimSpace(x.text) == "":
			err = fmt.Errorf("%q has no text", x.name)
		case !(x.weight >= 0 && x.weight < 1e9):
			err = fmt.Errorf("%q has the weight %v", x.name, x.weight)
		}
		if err != nil {
			return nil, fault.Invalid(file, itemHint, nil, "item %d: %v", i+1, err)
		}
		items, sum = append(items, x), sum+x.weight
	}
	if len(list) != 1 || sum == 0 {
		return nil, fault.Invalid(file, itemHint, nil, "it has to have items, one with a weight above 0, and nothing else")
	}
	return items, nil
}

// set sets what a key says. what is "", or what is wrong.
func (x *item) set(key string, value any) (hint, what string) {
	var ok bool
	switch key {
	case "name":
		x.name, ok = value.(string)
	case "text":
		x.text, ok = value.(string)
	case "must-have":
		x.must, ok = value.(bool)
	case "polarity":
		x.negative, ok = value == "negative", value == "negative" || value == "positive"
	case "weight":
		if x.weight, ok = value.(float64); !ok {
			var n int
			n, ok = value.(int)
			x.weight = float64(n)
		}
	default:
		return plugin.Nearest(key, []string{"name", "text", "weight", "polarity", "must-have"}, itemHint), fmt.Sprintf("unknown key %q", key)
	}
	if !ok {
		return itemHint, fmt.Sprintf("%s cannot be %#v", key, value)
	}
	return "", ""
}
