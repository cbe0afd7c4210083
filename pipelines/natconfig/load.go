package natconfig

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/rollmill/rollmill/stages"
)

// maxCopied bounds the nodes of the result: aliases of aliases could otherwise
// expand a small file without end.
const maxCopied = 100_000

// load returns the mapping that is the file.
func (c *converter) load(data []byte) (*yaml.Node, error) {
	loader, err := yaml.NewLoader(strings.NewReader(string(data)))
	if err != nil {
		return nil, err
	}
	var doc, second yaml.Node
	switch err := loader.Load(&doc); {
	case errors.Is(err, io.EOF):
		return nil, stages.Errorf(stages.KindUsage, "name the file that `nat finetune --config_file` reads",
			"%s: the file is empty", c.name)
	case err != nil:
		return nil, c.broken(err)
	}
	if err := loader.Load(&second); !errors.Is(err, io.EOF) {
		return nil, stages.Errorf(stages.KindUsage, "NAT reads one document", "%s: more than one document", c.name)
	}
	root := resolve(&doc)
	if root.Kind == yaml.DocumentNode && len(root.Content) == 1 {
		root = resolve(root.Content[0])
	}
	if root.Kind != yaml.MappingNode {
		return nil, c.refuse(root, "name the file that `nat finetune --config_file` reads", "not a mapping of sections")
	}
	return root, nil
}

// broken returns the error of a file that is not YAML.
func (c *converter) broken(err error) error {
	at, place := (*yaml.LoadError)(nil), c.name
	if !errors.As(err, &at) {
		return stages.Errorf(stages.KindUsage, "", "%s: not YAML: %w", c.name, err)
	}
	line := at.Mark.Line
	if at.ContextMark.Line > 0 && !strings.Contains(at.ContextMsg, "block") { // a quote or bracket begins there
		line = at.ContextMark.Line
	}
	if line > 0 {
		place = fmt.Sprintf("%s:%d", c.name, line)
	}
	return stages.Errorf(stages.KindUsage, "look for a wrong indentation, a tab, or an unclosed quote or bracket",
		"%s: not YAML: %s", place, at.Message)
}

// pair is a key of a mapping and its value, without aliases.
type pair struct{ key, value *yaml.Node }

// pairs returns the pairs of a mapping in order, none of nil. Merge keys (<<) are
// applied; a duplicate key is an error.
func (c *converter) pairs(n *yaml.Node, depth int) ([]pair, error) {
	if n == nil {
		return nil, nil
	}
	var own, merged []pair
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := resolve(n.Content[i]), resolve(n.Content[i+1])
		switch {
		case key.Kind != yaml.ScalarNode:
			return nil, c.refuse(key, "write NAME: VALUE", "a key must be a word")
		case key.Value == "<<" && key.Tag == "!!merge":
			more, err := c.merge(value, depth)
			if err != nil {
				return nil, err
			}
			merged = append(merged, more...)
		case seen[key.Value]:
			return nil, c.refuse(key, "NAT takes the last one; remove the others", "%q is set twice", plain(key.Value))
		default:
			seen[key.Value] = true
			own = append(own, pair{key, value})
		}
	}
	for _, p := range merged {
		if !seen[p.key.Value] {
			seen[p.key.Value] = true
			own = append(own, p)
		}
	}
	return own, nil
}

// merge returns the pairs that a merge key adds: those of a mapping, or of a list
// of mappings.
func (c *converter) merge(value *yaml.Node, depth int) ([]pair, error) {
	if c.copied++; depth > 20 || c.copied > maxCopied {
		return nil, c.refuse(value, "write the fields where they belong", "merge keys are nested too deeply")
	}
	switch value.Kind {
	case yaml.MappingNode:
		return c.pairs(value, depth+1)
	case yaml.SequenceNode:
		var out []pair
		for _, inner := range value.Content {
			if inner = resolve(inner); inner.Kind != yaml.MappingNode {
				return nil, c.refuse(inner, "name an anchor of a mapping, as in <<: *NAME", "a merge key takes mappings")
			}
			more, err := c.merge(inner, depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
		}
		return out, nil
	}
	return nil, c.refuse(value, "name an anchor of a mapping, as in <<: *NAME", "a merge key takes a mapping")
}

// copy returns a value for the result: without anchors, comments and style.
func (c *converter) copy(n *yaml.Node) (*yaml.Node, error) {
	n = resolve(n)
	if c.copied++; c.copied > maxCopied {
		return nil, c.refuse(n, "write the values where they belong", "aliases expand to too much")
	}
	out := &yaml.Node{Kind: n.Kind, Value: n.Value, Tag: n.Tag}
	switch n.Kind {
	case yaml.ScalarNode:
		if !strings.HasPrefix(n.Tag, "!!") || n.Tag == "!!binary" || n.Tag == "!!merge" {
			return nil, c.refuse(n, "remove the tag", "unexpected tag %s", plain(n.Tag))
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
		pairs, err := c.pairs(n, 0)
		if err != nil {
			return nil, err
		}
		for _, p := range pairs {
			value, err := c.copy(p.value)
			if err != nil {
				return nil, err
			}
			out.Content = append(out.Content, text(p.key.Value), value)
		}
	default:
		return nil, c.refuse(n, "write a text, a number, a list or a mapping", "not a value")
	}
	return out, nil
}

func resolve(n *yaml.Node) *yaml.Node {
	for i := 0; n.Kind == yaml.AliasNode && n.Alias != nil && i < 100; i++ {
		n = n.Alias
	}
	return n
}

func absent(n *yaml.Node) bool {
	return n == nil || n.Kind == yaml.ScalarNode && n.Tag == "!!null"
}
