package layout

import (
	"fmt"
	"slices"

	"github.com/parquet-go/parquet-go/format"
)

// Node is a column or a group of columns in a file's schema.
type Node struct {
	Name     string
	Path     []string // of a leaf: the names on the path from the root
	Optional bool
	Repeated bool
	Rep, Def int // levels of an entry that has a value
	Children []*Node

	Leaf   int // column, -1 for a group of columns
	Kind   format.Type
	Length int // of a value with a fixed number of bytes

	Schema *format.SchemaElement
}

const maxNesting = 32 // of groups of columns within each other

// NewSchema builds the tree from the flat list in a footer.
func NewSchema(elements []format.SchemaElement) (root *Node, leaves []*Node, err error) {
	if len(elements) == 0 {
		return nil, nil, fmt.Errorf("it has no schema")
	}
	rest := elements
	var path []string
	var inPath, inPaths int // bytes
	var build func(rep, def, depth int) (*Node, error)
	build = func(rep, def, depth int) (*Node, error) {
		if depth > maxNesting {
			return nil, fmt.Errorf("its schema nests deeper than %d", maxNesting)
		}
		if len(rest) == 0 {
			return nil, fmt.Errorf("its schema does not add up")
		}
		e := &rest[0]
		rest = rest[1:]
		n := &Node{Name: e.Name, Rep: rep, Def: def, Leaf: -1, Schema: e}
		if depth > 0 && e.RepetitionType.Valid {
			switch e.RepetitionType.V {
			case format.Optional:
				n.Optional = true
				n.Def++
			case format.Repeated:
				n.Repeated = true
				n.Rep++
				n.Def++
			}
		}
		if depth > 0 {
			path, inPath = append(path, e.Name), inPath+len(e.Name)
			defer func() { path, inPath = path[:len(path)-1], inPath-len(e.Name) }()
			if inPaths += inPath; inPaths > maxPaths {
				return nil, fmt.Errorf("the paths of its columns have more than %d MiB", maxPaths>>20)
			}
		}
		if e.Type.Valid {
			n.Path = slices.Clone(path)
			n.Kind, n.Leaf = e.Type.V, len(leaves)
			switch n.Kind {
			case format.Int96:
				n.Length = 12
			case format.FixedLenByteArray:
				n.Length = int(e.TypeLength.V)
			}
			leaves = append(leaves, n)
			return n, nil
		}
		for range e.NumChildren.V {
			child, err := build(n.Rep, n.Def, depth+1)
			if err != nil {
				return nil, err
			}
			n.Children = append(n.Children, child)
		}
		return n, nil
	}
	if root, err = build(0, 0, 0); err == nil && len(rest) > 0 {
		err = fmt.Errorf("its schema does not add up")
	}
	return root, leaves, err
}

// Child returns the column with a name, or nil.
func (n *Node) Child(name string) *Node {
	for _, c := range n.Children {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Element returns the element of a list: the one child of the one repeated
// child of a group, whatever their names. It is nil for a group that is not a
// list.
func (n *Node) Element() (list, element *Node) {
	if n.Leaf >= 0 || len(n.Children) != 1 || !n.Children[0].Repeated {
		return nil, nil
	}
	list = n.Children[0]
	if list.Leaf >= 0 || len(list.Children) != 1 {
		return nil, nil
	}
	return list, list.Children[0]
}

// Same returns the leaf at a path below n, if all on the path is as below o; else -1.
func (n *Node) Same(o *Node, path []string) int {
	for _, name := range path {
		if n, o = n.Child(name), o.Child(name); n == nil || !SameColumn(*n.Schema, *o.Schema) {
			return -1
		}
	}
	return n.Leaf
}

// SameColumn reports whether two elements of schemas describe the same column.
func SameColumn(a, b format.SchemaElement) bool {
	return a.Name == b.Name && a.Type == b.Type && a.TypeLength == b.TypeLength && a.RepetitionType == b.RepetitionType &&
		a.NumChildren == b.NumChildren
}
