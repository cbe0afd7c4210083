package natconfig

import (
	"strings"

	"go.yaml.in/yaml/v4"
)

// copy returns a value for the result: without anchors, comments and style.
func (c *converter) copy(n *yaml.Node) (*yaml.Node, error) {
	out := &yaml.Node{Kind: n.Kind, Value: n.Value, Tag: n.Tag}
	switch n.Kind {
	case yaml.ScalarNode:
		if !strings.HasPrefix(n.Tag, "!!") || n.Tag == "!!binary" || n.Tag == "!!merge" {
			return nil, c.Refuse(n, "remove the tag", "unexpected tag %s", plain(n.Tag))
		}
	case yaml.SequenceNode:
		for _, inner := range n.Content {
			value, err := c.copy(inner)
			if err != nil {
				return nil, err
			}
			out.Content = append(out.Content, value)
		}
	case yaml.MappingNode:
		pairs, err := c.Pairs(n)
		if err != nil {
			return nil, err
		}
		for _, p := range pairs {
			value, err := c.copy(p.Value)
			if err != nil {
				return nil, err
			}
			out.Content = append(out.Content, text(p.Key.Value), value)
		}
	}
	return out, nil
}
