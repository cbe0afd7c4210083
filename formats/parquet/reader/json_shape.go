package reader

import (
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/parquet/layout"
)

// shape describes how a column, or a group of columns, is converted to JSON.
type shape struct {
	node     *layout.Node
	kind     shapeKind
	key      []byte       // "name":, if it is a member
	first    int          // leaf under it
	end      int          // leaf after those under it
	repeated *layout.Node // of a list or a map: the repeated node
	members  []*shape
	write    func(b []byte, v *layout.Values, i int) ([]byte, error)
}

type shapeKind int

const (
	shapeLeaf   shapeKind = iota
	shapeObject           // a member for each column
	shapeList             // one member: the element
	shapeMap              // key and value
)

// newShape returns the shape of rows, or an error with the column whose type is
// not supported. unread, if it is not nil, gets such columns instead.
func newShape(root *layout.Node, unread *[]jsontext.Lost) (*shape, error) {
	s := &shape{node: root, kind: shapeObject}
	return s, s.add(root.Children, nil, unread)
}

func (s *shape) add(columns []*layout.Node, path []string, unread *[]jsontext.Lost) error {
	for _, n := range columns {
		m, err := shapeOf(n, append(path[:len(path):len(path)], n.Name))
		if err != nil && unread != nil {
			*unread = append(*unread, jsontext.Lost{Path: n.Name, Why: err.Error()})
			continue
		}
		if err != nil {
			return err
		}
		m.key = append(jsontext.AppendString(nil, n.Name), ':')
		s.members = append(s.members, m)
	}
	if len(s.members) == 0 && unread != nil && len(*unread) > 0 {
		return errors.New((*unread)[0].Why)
	}
	if len(s.members) == 0 {
		return fmt.Errorf("column %q is a group of no columns", layout.ColumnName(path))
	}
	s.first, s.end = s.members[0].first, s.members[len(s.members)-1].end
	return nil
}

// shapeOf returns the shape of a column of a group. A repeated column that is
// not in a list is a list itself.
func shapeOf(n *layout.Node, path []string) (*shape, error) {
	if !n.Repeated {
		return shapeOfOne(n, path)
	}
	return listOf(&shape{node: n}, n, n, path)
}

// shapeOfOne returns the shape of a column, or of one element if the column is repeated.
func shapeOfOne(n *layout.Node, path []string) (*shape, error) {
	s := &shape{node: n}
	if n.Leaf >= 0 {
		s.first, s.end = n.Leaf, n.Leaf+1
		var err error
		if s.write, err = writerOf(n); err != nil {
			return nil, fmt.Errorf("column %q has the type %s, which is not read here", layout.ColumnName(path), err)
		}
		return s, nil
	}
	s.kind = shapeObject
	switch t := layout.Annotation(n.Schema).(type) {
	case nil:
	case *format.ListType:
		if len(n.Children) == 1 && n.Children[0].Repeated {
			return listOf(s, n.Children[0], layout.ElementOf(n), path)
		}
		return nil, fmt.Errorf("column %q is a list of a form that is not read here", layout.ColumnName(path))
	case *format.MapType:
		if len(n.Children) == 1 && n.Children[0].Repeated && len(n.Children[0].Children) == 2 {
			s.kind, s.repeated = shapeMap, n.Children[0]
			return s, s.add(s.repeated.Children, path, nil)
		}
		return nil, fmt.Errorf("column %q is a map of a form that is not read here", layout.ColumnName(path))
	default:
		return nil, fmt.Errorf("column %q has the type %s, which is not read here", layout.ColumnName(path), t)
	}
	return s, s.add(n.Children, path, nil)
}

// listOf makes s a list of the repeated node: element is that node itself or the one column in it.
func listOf(s *shape, repeated, element *layout.Node, path []string) (*shape, error) {
	s.kind, s.repeated = shapeList, repeated
	of := shapeOf
	if element == repeated {
		of = shapeOfOne
	}
	m, err := of(element, path)
	if err != nil {
		return nil, err
	}
	s.members, s.first, s.end = []*shape{m}, m.first, m.end
	return s, nil
}
