package judge

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage/fault"
)

// item is one of a rubric's. A negative one describes a fault: of x, 1 - x counts.
type item struct {
	Name, Text string
	Weight     *float64 // nil: 1
	Polarity   string
	MustHave   bool `yaml:"must-have"` // if less than half counts, the total is 0
}

// hasItems reports whether a rubric's file lists items. Its name alone says so.
func hasItems(name string) bool {
	return yamlName.MatchString(name)
}

var (
	yamlName = regexp.MustCompile(`(?i)\.ya?ml$`)
	itemName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`) // that of a part
	itemKeys = []string{"name", "text", "weight", "polarity", "must-have"}
)

const itemHint = `write items: and below it "- {name: rude, text: Is it rude?, weight: 2, polarity: negative, must-have: true}"`

// readItems reads a rubric's items, with their weights.
func readItems(file, data string) ([]item, error) {
	var list struct{ Items []item }
	var given map[string][]map[string]any // what the items do not show: unknown keys, and those without a value
	if err := errors.Join(yaml.Load([]byte(data), &given), yaml.Load([]byte(data), &list)); err != nil {
		return nil, fault.Invalid(file, itemHint, nil, "it has no list of items: %v", err)
	}
	sum, seen := 0.0, map[string]bool{}
	for i := range list.Items {
		hint, odd, x := itemHint, "", &list.Items[i]
		if x.Weight == nil {
			x.Weight = new(1.0)
		}
		switch {
		case !itemName.MatchString(x.Name) || seen[x.Name]:
			odd = fmt.Sprintf("the name %q is another's, or not letters, digits, _ and -", x.Name)
		case strings.TrimSpace(x.Text) == "":
			odd = "there is no text"
		case !(*x.Weight >= 0 && *x.Weight < 1e9):
			odd = fmt.Sprint("the weight is ", *x.Weight)
		case !slices.Contains([]string{"", "positive", "negative"}, x.Polarity):
			odd = fmt.Sprintf("the polarity %q is neither positive nor negative", x.Polarity)
		}
		for _, key := range slices.Sorted(maps.Keys(given["items"][i])) {
			if !slices.Contains(itemKeys, key) {
				hint, odd = plugin.Nearest(key, itemKeys, itemHint), fmt.Sprintf("unknown key %q", key)
			} else if given["items"][i][key] == nil {
				odd = key + " has no value"
			}
		}
		if odd != "" {
			return nil, fault.Invalid(file, hint, nil, "item %d: %s", i+1, odd)
		}
		sum, seen[x.Name] = sum+*x.Weight, true
	}
	if len(given) != 1 || sum == 0 {
		return nil, fault.Invalid(file, itemHint, nil, "it needs items, one with a weight above 0, and nothing else")
	}
	return list.Items, nil
}
