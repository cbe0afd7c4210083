package judge

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/rollmill/rollmill/formats/yamldoc"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage/fault"
)

// item is one of a rubric's.
type item struct {
	name     string
	text     string
	weight   float64 // its share of the total, beside those of the others
	negative bool    // it describes a fault: 1 - x counts
	must     bool    // below half, what counts makes the total 0
}

// hasItems reports whether a rubric's file lists items. Its name alone says so.
func hasItems(name string) bool {
	return slices.Contains([]string{".yaml", ".yml"}, strings.ToLower(path.Ext(name)))
}

type itemFile struct{ yamldoc.File }

// readItems reads a rubric's items:
//
//	items:
//	  - {name: correct, text: The answer is right., weight: 3, must-have: true}
//	  - {name: rude, text: The answer is rude., polarity: negative}
//
// An error names the line.
func readItems(name, data string) ([]item, error) {
	f := itemFile{yamldoc.File{Name: name, Fail: func(place, hint, what string) error { return fault.Invalid(place, hint, nil, "%s", what) }}}
	root, err := f.Root([]byte(data))
	if err != nil {
		return nil, err
	}
	var out []item
	sum, list := 0.0, root
	err = f.each(root, []string{"items"}, map[string]func(*yaml.Node) error{"items": func(n *yaml.Node) error {
		if list = n; n.Kind != yaml.SequenceNode {
			return f.Refuse(n, "write - name: NAME for each", "items is not a list")
		}
		for _, node := range n.Content {
			x, err := f.item(node)
			if err != nil {
				return err
			}
			if slices.ContainsFunc(out, func(o item) bool { return o.name == x.name }) {
				return f.Refuse(node, "give each item a name of its own", "two items are named %q", x.name)
			}
			out, sum = append(out, x), sum+x.weight
		}
		return nil
	}})
	if err == nil && sum == 0 {
		err = f.Refuse(list, "write items: and below it - name: NAME, with a text and a weight above 0", "no item has a weight")
	}
	return out, err
}

// each calls the function of each key that a mapping has, in order, and refuses others.
func (f itemFile) each(n *yaml.Node, known []string, set map[string]func(*yaml.Node) error) error {
	all := "the keys are " + strings.Join(known, ", ")
	if n.Kind != yaml.MappingNode {
		return f.Refuse(n, all, "not a mapping")
	}
	entries, err := f.Entries(n)
	for _, e := range entries {
		if err == nil && set[e.Key.Value] == nil {
			err = f.Refuse(e.Key, plugin.Nearest(e.Key.Value, known, all), "unknown key %q", e.Key.Value)
		}
		if err == nil {
			err = set[e.Key.Value](e.Value)
		}
	}
	return err
}

var itemName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`) // a part's

func (f itemFile) item(n *yaml.Node) (item, error) {
	x := item{weight: 1}
	err := f.each(n, []string{"name", "text", "weight", "polarity", "must-have"}, map[string]func(*yaml.Node) error{
		"name":      func(v *yaml.Node) error { return f.scalar(v, &x.name, "a text", "!!str") },
		"text":      func(v *yaml.Node) error { return f.scalar(v, &x.text, "a text", "!!str") },
		"weight":    func(v *yaml.Node) error { return f.scalar(v, &x.weight, "a number", "!!int", "!!float") },
		"must-have": func(v *yaml.Node) error { return f.scalar(v, &x.must, "true or false", "!!bool") },
		"polarity": func(v *yaml.Node) error {
			if x.negative = v.Value == "negative"; !x.negative && v.Value != "positive" {
				return f.Refuse(v, "write positive or negative", "no polarity %q", v.Value)
			}
			return nil
		},
	})
	switch {
	case err != nil:
	case !itemName.MatchString(x.name):
		err = f.Refuse(n, "name: is letters, digits, _ and -", "the name of an item is %q", x.name)
	case strings.TrimSpace(x.text) == "":
		err = f.Refuse(n, "write text: and what the judge has to look at", "item %q has no text", x.name)
	case !(x.weight >= 0 && x.weight < 1e9):
		err = f.Refuse(n, "write a number from 0 on, and polarity: negative for a fault", "item %q has the weight %v", x.name, x.weight)
	}
	return x, err
}

// scalar sets a value of a type, which nothing else is taken for.
func (f itemFile) scalar(n *yaml.Node, to any, what string, tags ...string) error {
	if n.Kind != yaml.ScalarNode || !slices.Contains(tags, n.ShortTag()) || n.Decode(to) != nil {
		return f.Refuse(n, "write "+what, "%q is not %s", n.Value, what)
	}
	return nil
}
