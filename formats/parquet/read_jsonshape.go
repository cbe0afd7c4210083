package parquet

import (
	"errors"
	"fmt"
	"strings"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats/jsontext"
)

// shape describes how a column, or a group of columns, is converted to JSON.
type shape struct {
	node     *node
	kind     shapeKind
	key      []byte // "name":, if it is a member
	first    int    // leaf under it
	end      int    // leaf after those under it
	repeated *node  // of a list or a map: the repeated node
	members  []*shape
	write    func(b []byte, v *values, i int) ([]byte, error)
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
func newShape(root *node, unread *[]jsontext.Lost) (*shape, error) {
	s := &shape{node: root, kind: shapeObject}
	return s, s.add(root.children, nil, unread)
}

// add adds the members of a shape.
func (s *shape) add(columns []*node, path []string, unread *[]jsontext.Lost) error {
	for _, n := range columns {
		m, err := shapeOf(n, append(path[:len(path):len(path)], n.name))
		if err != nil && unread != nil {
			*unread = append(*unread, jsontext.Lost{Path: n.name, Why: err.Error()})
			continue
		}
		if err != nil {
			return err
		}
		m.key = append(jsontext.AppendString(nil, n.name), ':')
		s.members = append(s.members, m)
	}
	if len(s.members) == 0 && unread != nil && len(*unread) > 0 {
		return errors.New((*unread)[0].Why)
	}
	if len(s.members) == 0 {
		return fmt.Errorf("column %q is a group of no columns", columnName(path))
	}
	s.first, s.end = s.members[0].first, s.members[len(s.members)-1].end
	return nil
}

// shapeOf returns the shape of a column of a group. A repeated column that is
// not in a list is a list itself.
func shapeOf(n *node, path []string) (*shape, error) {
	if !n.repeated {
		return shapeOfOne(n, path)
	}
	return listOf(&shape{node: n}, n, n, path)
}

// shapeOfOne returns the shape of a column, or of one element if the column is
// repeated.
func shapeOfOne(n *node, path []string) (*shape, error) {
	s := &shape{node: n}
	if n.leaf >= 0 {
		s.first, s.end = n.leaf, n.leaf+1
		var err error
		if s.write, err = writerOf(n); err != nil {
			return nil, fmt.Errorf("column %q has the type %s, which is not read here", columnName(path), err)
		}
		return s, nil
	}
	s.kind = shapeObject
	switch t := annotation(n.schema).(type) {
	case nil:
	case *format.ListType:
		if len(n.children) == 1 && n.children[0].repeated {
			return listOf(s, n.children[0], elementOf(n), path)
		}
		return nil, fmt.Errorf("column %q is a list of a form that is not read here", columnName(path))
	case *format.MapType:
		if len(n.children) == 1 && n.children[0].repeated && len(n.children[0].children) == 2 {
			s.kind, s.repeated = shapeMap, n.children[0]
			return s, s.add(s.repeated.children, path, nil)
		}
		return nil, fmt.Errorf("column %q is a map of a form that is not read here", columnName(path))
	default:
		return nil, fmt.Errorf("column %q has the type %s, which is not read here", columnName(path), t)
	}
	return s, s.add(n.children, path, nil)
}

// listOf makes s a list of the repeated node: element is that node itself or
// the one column in it.
func listOf(s *shape, repeated, element *node, path []string) (*shape, error) {
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

// elementOf returns the element of a list: the one column of the repeated node,
// unless the list has one of the older forms in which the repeated node itself
// is the element (LogicalTypes.md of the Parquet format,
// "Backward-compatibility rules").
func elementOf(list *node) *node {
	r := list.children[0]
	if r.leaf >= 0 || len(r.children) != 1 || r.children[0].repeated || r.name == "array" || r.name == list.name+"_tuple" {
		return r
	}
	return r.children[0]
}

// interval is a type that exists only among the older annotations.
type interval struct{}

func (interval) String() string { return "INTERVAL" }

// annotation returns the meaning of a column's values; nil when they have no
// annotation.
func annotation(e *format.SchemaElement) fmt.Stringer {
	if e.LogicalType.Value != nil {
		return e.LogicalType.Value
	}
	if !e.ConvertedType.Valid {
		return nil
	}
	millis, micros := format.TimeUnit{Value: new(format.MilliSeconds)}, format.TimeUnit{Value: new(format.MicroSeconds)}
	switch t := e.ConvertedType.V; t {
	case deprecated.UTF8:
		return new(format.StringType)
	case deprecated.Map, deprecated.MapKeyValue:
		return new(format.MapType)
	case deprecated.List:
		return new(format.ListType)
	case deprecated.Enum:
		return new(format.EnumType)
	case deprecated.Json:
		return new(format.JsonType)
	case deprecated.Bson:
		return new(format.BsonType)
	case deprecated.Decimal:
		return &format.DecimalType{Scale: e.Scale.V, Precision: e.Precision.V}
	case deprecated.Date:
		return new(format.DateType)
	case deprecated.TimeMillis:
		return &format.TimeType{Unit: millis}
	case deprecated.TimeMicros:
		return &format.TimeType{Unit: micros}
	case deprecated.TimestampMillis:
		return &format.TimestampType{IsAdjustedToUTC: true, Unit: millis}
	case deprecated.TimestampMicros:
		return &format.TimestampType{IsAdjustedToUTC: true, Unit: micros}
	case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64:
		return &format.IntType{BitWidth: 8 << (t - deprecated.Uint8)}
	case deprecated.Int8, deprecated.Int16, deprecated.Int32, deprecated.Int64:
		return &format.IntType{BitWidth: 8 << (t - deprecated.Int8), IsSigned: true}
	}
	return interval{}
}

// describeType returns a column's type for an error message.
func describeType(n *node) string {
	t := n.kind.String()
	if a := annotation(n.schema); a != nil {
		t = strings.TrimSpace(a.String() + " of " + t)
	}
	return t
}
