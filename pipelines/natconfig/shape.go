package natconfig

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// shape is the type of a field's value.
type shape string

const (
	word     shape = "text"
	whole    shape = "a whole number"
	number   shape = "a number"
	toggle   shape = "true or false"
	words    shape = "a list of texts"
	mapping  shape = "a mapping"
	anything shape = "any value"
)

// check refuses a value of another shape. A reference such as ${VAR} may become
// any scalar. Numbers and switches may be quoted, as NAT allows.
func (c *converter) check(path string, n *yaml.Node, want shape) error {
	ok := true
	switch want {
	case mapping:
		ok = n.Kind == yaml.MappingNode
	case words:
		ok = n.Kind == yaml.SequenceNode
		for _, inner := range n.Content {
			ok = ok && isText(inner)
		}
	case anything:
	default:
		ok = n.Kind == yaml.ScalarNode && (isReference(n.Value) || fits(n, want))
	}
	if ok {
		return nil
	}
	return c.Refuse(n, hints[want], "%s must be %s, not %s", path, want, found(n))
}

// hints say how to write a value of each shape.
var hints = map[shape]string{
	word:    "put a text that looks like a number, a date or a switch in quotes",
	whole:   "write digits, without a unit",
	number:  "write digits, as in 0.5 or 1e-5",
	toggle:  "write true or false",
	words:   "write [a, b]",
	mapping: "write its fields on indented lines below it, as NAME: VALUE",
}

func fits(n *yaml.Node, want shape) bool {
	switch want {
	case whole:
		f, err := strconv.ParseFloat(n.Value, 64)
		return err == nil && f == float64(int64(f)) || n.Tag == "!!int"
	case number:
		_, err := strconv.ParseFloat(n.Value, 64)
		return err == nil || n.Tag == "!!int" || n.Tag == "!!float"
	case toggle:
		return isTrue(n.Value) || slices.Contains([]string{"false", "no", "off", "0", "f", "n"}, strings.ToLower(n.Value))
	}
	return isText(n)
}

func isText(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!str" }

// isTrue reports whether NAT reads a text as true.
func isTrue(text string) bool {
	return slices.Contains([]string{"true", "yes", "on", "1", "t", "y"}, strings.ToLower(text))
}

// isReference reports whether a text takes its value, or a part, from the
// environment.
func isReference(text string) bool { return strings.Contains(text, "${") }

// found names a value that has the wrong shape.
func found(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	return strconv.Quote(n.Value)
}
