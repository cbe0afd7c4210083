package yamldoc

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// File is a file that holds one YAML document.
type File struct {
	Name string // for errors

	// Fail makes an error of the caller's kind: place is NAME or NAME:LINE. hint is
	// empty if there is none.
	Fail func(place, hint, what string) error
}

// At returns the place of a node: NAME:LINE.
func (f File) At(n *yaml.Node) string { return fmt.Sprintf("%s:%d", f.Name, n.Line) }

func (f File) Refuse(n *yaml.Node, hint, format string, args ...any) error {
	return f.Fail(f.At(n), hint, fmt.Sprintf(format, args...))
}

// Root returns the mapping that is the file: a tree, in which each alias is a copy
// of what it names. A file without a value is an empty mapping.
func (f File) Root(data []byte) (*yaml.Node, error) {
	var docs []yaml.Node
	if err := yaml.Load(data, &docs, yaml.WithAllDocuments()); err != nil {
		return nil, f.broken(err)
	}
	root := &yaml.Node{Kind: yaml.MappingNode, Line: 1}
	switch {
	case len(docs) > 1:
		return nil, f.Fail(f.Name, "remove the lines that are ---, and all but one document", "more than one document")
	case len(docs) == 1 && len(docs[0].Content) == 1 && !Null(docs[0].Content[0]):
		root = docs[0].Content[0]
	}
	if root.Kind != yaml.MappingNode {
		return nil, f.Refuse(root, "write SECTION: at the start of a line, and below it indented lines", "not a mapping of sections")
	}
	copied := 0
	return root, f.expand(root, nil, &copied)
}

// broken returns the error of a file that is not YAML, with the line at fault.
func (f File) broken(err error) error {
	const hint = "look for a wrong indentation, a tab, or an unclosed quote or bracket"
	var at *yaml.LoadError
	if !errors.As(err, &at) {
		return f.Fail(f.Name, hint, "not YAML: "+err.Error())
	}
	line := at.Mark.Line
	// a quote or bracket begins there; a block's first line is not at fault
	if at.ContextMark.Line > 0 && !strings.Contains(at.ContextMsg, "block") {
		line = at.ContextMark.Line
	}
	return f.Refuse(&yaml.Node{Line: max(line, 1)}, hint, "not YAML: %s", at.Message)
}

// maxCopied bounds the nodes that are copies: aliases of aliases could otherwise
// expand a small file without end.
const maxCopied = 100_000

// expand replaces the aliases below a node by copies. One that contains itself
// ends at the bound. of is the alias that the node is a part of, for errors, or nil.
func (f File) expand(n, of *yaml.Node, copied *int) error {
	for i, inner := range n.Content {
		at := of
		if inner.Kind == yaml.AliasNode {
			at, inner = cmp.Or(of, inner), inner.Alias
		}
		if at != nil {
			node := *inner
			node.Content = slices.Clone(node.Content)
			n.Content[i] = &node
			*copied++
		}
		if *copied > maxCopied {
			return f.Refuse(at, "write the values where they belong", "aliases expand to too much")
		}
		if err := f.expand(n.Content[i], at, copied); err != nil {
			return err
		}
	}
	return nil
}

func Null(n *yaml.Node) bool {
	return n == nil || n.Kind == yaml.ScalarNode && n.Tag == "!!null"
}
