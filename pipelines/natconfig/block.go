package natconfig

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/rollmill/rollmill/formats/yamldoc"
)

// field is a field of a NAT model.
type field struct {
	name  string
	shape shape
	to    string  // the key of rollmill that takes the value; "" for none
	def   string  // NAT's default, which is written if the file lacks the field; "" for none
	kind  Kind    // of the note; "" for no note
	note  string  // what to know when the file has the field
	inner []field // of a mapping whose fields are known
}

// block is a mapping of NAT that was checked: its fields by name, and those that
// are blocks.
type block struct {
	path string
	at   map[string]*yaml.Node
	in   map[string]block
}

// text returns a scalar of the block, or its default.
func (b block) text(name, def string) string {
	if n := b.at[name]; n != nil {
		return n.Value
	}
	return def
}

// on reports whether a switch of the block is on. A reference counts as on.
func (b block) on(name string, def bool) bool {
	if n := b.at[name]; n != nil {
		return isTrue(n.Value) || isReference(n.Value)
	}
	return def
}

// read checks a mapping against the fields of its model, and converts those that
// have a key of their own. n may be nil: then all fields have their defaults.
func (c *converter) read(path string, n *yaml.Node, fields []field) (block, error) {
	b := block{path: path, at: map[string]*yaml.Node{}, in: map[string]block{}}
	if !yamldoc.Null(n) {
		if err := c.check(path, n, mapping); err != nil {
			return b, err
		}
		pairs, err := c.Pairs(n)
		if err != nil {
			return b, err
		}
		for _, p := range pairs {
			f, ok := find(fields, p.Key.Value)
			if !ok {
				c.note(join(path, p.Key.Value), p.Key, Unknown, "", unknownNote)
				continue
			}
			if yamldoc.Null(p.Value) {
				continue
			}
			b.at[f.name] = p.Value
			if err := c.field(join(path, f.name), p, f); err != nil {
				return b, err
			}
			if f.inner == nil {
				continue
			}
			if b.in[f.name], err = c.read(join(path, f.name), p.Value, f.inner); err != nil {
				return b, err
			}
		}
	}
	for _, f := range fields {
		switch {
		case b.at[f.name] != nil || f.def == "":
		case f.shape == words:
			c.put(f.to, list(text(f.def)))
		default:
			c.put(f.to, written(f.def))
		}
	}
	return b, nil
}

const unknownNote = "not a field that NAT reads; it ignores such fields silently, or refuses them"

// field checks and converts one field that the file has.
func (c *converter) field(path string, p yamldoc.Pair, f field) error {
	if err := c.check(path, p.Value, f.shape); err != nil {
		return err
	}
	if f.to != "" {
		value, err := c.copy(p.Value)
		if err != nil {
			return err
		}
		c.put(f.to, typed(value, f.shape))
		c.checkReference(path, p.Value, f.to)
	}
	if f.kind != "" {
		c.note(path, p.Key, f.kind, f.to, f.note)
	}
	return nil
}

// typed returns a scalar as rollmill reads it: numbers and switches unquoted.
func typed(n *yaml.Node, s shape) *yaml.Node {
	switch {
	case isReference(n.Value) || n.Kind != yaml.ScalarNode:
	case s == toggle:
		return written(strconv.FormatBool(isTrue(n.Value)))
	case s == whole:
		if f, err := strconv.ParseFloat(n.Value, 64); err == nil {
			return written(strconv.FormatInt(int64(f), 10))
		}
	case s == number:
		return written(n.Value)
	}
	return n
}

// checkReference notes a value that NAT and rollmill expand differently.
func (c *converter) checkReference(path string, n *yaml.Node, to string) {
	value := n.Value
	switch {
	case strings.HasPrefix(value, "file://"):
		c.note(path, n, Changed, to, "NAT replaces this by the content of the file; rollmill does not")
	case strings.Contains(value, "$${"):
		c.note(path, n, Changed, to, "rollmill reads $${ as a literal ${")
	case isReference(value) && !strings.Contains(value, ":-"):
		c.note(path, n, Changed, to, "NAT takes an empty text for a variable that is not set; for rollmill it is an error")
	}
}

// find returns the field of a name. NAT also reads _type as type.
func find(fields []field, name string) (field, bool) {
	for _, f := range fields {
		if f.name == name || f.name == "_type" && name == "type" {
			return f, true
		}
	}
	return field{}, false
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
