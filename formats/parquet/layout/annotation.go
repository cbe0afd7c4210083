package layout

import (
	"fmt"
	"strings"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// ElementOf returns the element of a list: the one column of the repeated node,
// unless the list has one of the older forms in which the repeated node itself
// is the element (LogicalTypes.md of the Parquet format,
// "Backward-compatibility rules").
func ElementOf(list *Node) *Node {
	r := list.Children[0]
	if r.Leaf >= 0 || len(r.Children) != 1 || r.Children[0].Repeated || r.Name == "array" || r.Name == list.Name+"_tuple" {
		return r
	}
	return r.Children[0]
}

// Interval is a type that exists only among the older annotations.
type Interval struct{}

func (Interval) String() string { return "INTERVAL" }

// Annotation returns the meaning of a column's values; nil when they have no annotation.
func Annotation(e *format.SchemaElement) fmt.Stringer {
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
	return Interval{}
}

// DescribeType returns a column's type for an error message.
func DescribeType(n *Node) string {
	t := n.Kind.String()
	if a := Annotation(n.Schema); a != nil {
		t = strings.TrimSpace(a.String() + " of " + t)
	}
	return t
}

// null reports whether a column has nothing but nulls by its type, as tools
// write one whose type they do not know.
func (n *Node) null() bool {
	if n.Leaf >= 0 {
		_, null := Annotation(n.Schema).(*format.NullType)
		return null
	}
	_, element := n.Element()
	return element != nil && element.null()
}
