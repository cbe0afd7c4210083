package parquet

import (
	"fmt"
	"slices"

	"github.com/parquet-go/parquet-go/format"
)

// node is a column or a group of columns in a file's schema.
type node struct {
	name     string
	path     []string // of a leaf: the names on the path from the root
	optional bool
	repeated bool
	rep, def int // levels of an entry that has a value
	children []*node

	leaf   int // column, -1 for a group of columns
	kind   format.Type
	length int // of a value with a fixed number of bytes

	schema *format.SchemaElement
}

const maxNesting = 32 // of groups of columns within each other

// newSchema builds the tree from the flat list in a footer.
func newSchema(elements []format.SchemaElement) (root *node, leaves []*node, err error) {
	if len(elements) == 0 {
		return nil, nil, fmt.Errorf("it has no schema")
	}
	rest := elements
	var path []string
	var inPath, inPaths int // bytes
	var build func(rep, def, depth int) (*node, error)
	build = func(rep, def, depth int) (*node, error) {
		if depth > maxNesting {
			return nil, fmt.Errorf("its schema nests deeper than %d", maxNesting)
		}
		if len(rest) == 0 {
			return nil, fmt.Errorf("its schema does not add up")
		}
		e := &rest[0]
		rest = rest[1:]
		n := &node{name: e.Name, rep: rep, def: def, leaf: -1, schema: e}
		if depth > 0 && e.RepetitionType.Valid {
			switch e.RepetitionType.V {
			case format.Optional:
				n.optional = true
				n.def++
			case format.Repeated:
				n.repeated = true
				n.rep++
				n.def++
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
			n.path = slices.Clone(path)
			n.kind, n.leaf = e.Type.V, len(leaves)
			switch n.kind {
			case format.Int96:
				n.length = 12
			case format.FixedLenByteArray:
				n.length = int(e.TypeLength.V)
			}
			leaves = append(leaves, n)
			return n, nil
		}
		for range e.NumChildren.V {
			child, err := build(n.rep, n.def, depth+1)
			if err != nil {
				return nil, err
			}
			n.children = append(n.children, child)
		}
		return n, nil
	}
	if root, err = build(0, 0, 0); err == nil && len(rest) > 0 {
		err = fmt.Errorf("its schema does not add up")
	}
	return root, leaves, err
}

// child returns the column with a name, or nil.
func (n *node) child(name string) *node {
	for _, c := range n.children {
		if c.name == name {
			return c
		}
	}
	return nil
}

// element returns the element of a list: the one child of the one repeated
// child of a group, whatever their names. It is nil for a group that is not a
// list.
func (n *node) element() (list, element *node) {
	if n.leaf >= 0 || len(n.children) != 1 || !n.children[0].repeated {
		return nil, nil
	}
	list = n.children[0]
	if list.leaf >= 0 || len(list.children) != 1 {
		return nil, nil
	}
	return list, list.children[0]
}
