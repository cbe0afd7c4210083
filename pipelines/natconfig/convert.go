package natconfig

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/rollmill/rollmill/formats/yamldoc"
	"github.com/rollmill/rollmill/storage/fault"
)

// Kind is what a note says about a field of NAT.
type Kind string

const (
	Changed Kind = "changed" // it means something else in rollmill, or needs a step by hand
	Ignored Kind = "ignored" // NAT itself ignores it
	Dropped Kind = "dropped" // rollmill has no counterpart
	Unknown Kind = "unknown" // NAT's data models have no such field
	Stays   Kind = "stays"   // it stays in NAT's file
)

// Note is what a user has to know about one field.
type Note struct {
	Path string `json:"path"` // such as finetuning.num_epochs
	Line int    `json:"line"` // in NAT's file; 0 when the file does not have the field
	Kind Kind   `json:"kind"`
	Text string `json:"text"`

	to string // the key whose comment it is, such as train.epochs; "" for the list at the top
}

// String returns the note as a comment and a message show it.
func (n Note) String() string { return fmt.Sprintf("%s: %s: %s", n.Path, n.Kind, n.Text) }

// Convert converts the NAT configuration in data, which errors call name, to a
// config file of rollmill. Its errors are usage errors that name the line: data
// is not YAML, a field has the wrong type, or a name refers to nothing. Notes are
// in the order of the fields.
func Convert(name string, data []byte) ([]byte, []Note, error) {
	c := &converter{File: yamldoc.File{Name: name, Fail: func(place, hint, what string) error {
		return fault.Errorf(fault.Usage, hint, "%s: %s", place, what)
	}}}
	root, err := c.Root(data)
	if err != nil {
		return nil, nil, err
	}
	if err := c.file(root); err != nil {
		return nil, nil, err
	}
	out, err := c.render()
	return out, c.notes, err
}

// converter is one conversion.
type converter struct {
	yamldoc.File
	notes []Note
	out   []setting
}

// setting is a key of the result, such as train.epochs.
type setting struct {
	key   string
	value *yaml.Node
}

// put sets a key of the result. The last value of a key counts.
func (c *converter) put(key string, value *yaml.Node) {
	for i := range c.out {
		if c.out[i].key == key {
			c.out[i].value = value
			return
		}
	}
	c.out = append(c.out, setting{key, value})
}

// note adds a note about the field at path, which the comment of the key to shows.
func (c *converter) note(path string, at *yaml.Node, kind Kind, to, text string) {
	line := 0
	if at != nil {
		line = at.Line
	}
	c.notes = append(c.notes, Note{Path: plain(path), Line: line, Kind: kind, Text: plain(text), to: to})
}

// plain returns a text without line breaks and control characters, so that it
// fits into a comment.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == '\uFFFD' {
			return ' '
		}
		return r
	}, text)
	return strings.TrimSpace(text)
}

// text returns a scalar of the result.
func text(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
}

// written returns a scalar of the result as it is written in YAML: 5, true, 1e-5.
func written(value string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: value} }

func list(values ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Content: values}
}
