package layout

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats/schema"
)

// Leaf is one column, bound to the field of a row type that holds its values.
type Leaf struct {
	Node  *Node
	Name  string
	Lists []List  // from the row to the field, outermost first
	Off   uintptr // of the field in the row, or in an element of the last list
	Typ   reflect.Type
	Kind  format.Type // of the field; the column's own, or a number of another width
	Bulk  bool        // the field is a list of numbers: several values are set at once

	Pointer  bool // the field is a pointer
	Optional bool // the column itself may be null
	Payload  bool // it belongs to a field with the tag rollmill:"payload"

	Member  bool                // the field is an element of a list, not one of its columns
	Convert func(*Values) error // of a column whose numbers are not of the field's kind; else nil
}

// List is a repeated level between the row and a leaf.
type List struct {
	Off  uintptr // of the slice in the row, or in an element of the list before
	Typ  reflect.Type
	Size uintptr // of an element
	Rep  byte    // level at which an element repeats
	Def  byte    // level from which an element is there

	node     *Node
	Optional bool // the list may be null
	Makes    bool // this leaf is the first of the list: it makes the elements
}

var kinds = map[reflect.Kind]format.Type{
	reflect.Bool: format.Boolean, reflect.Int32: format.Int32, reflect.Int64: format.Int64,
	reflect.Float32: format.Float, reflect.Float64: format.Double, reflect.String: format.ByteArray,
}

// Bind finds the column of every field of a row type. A field that may be null,
// or is a list, may be missing in the file, which is then older; any other must
// be there. Another tool may have written a number in another width, if its values
// fit. Shallow leaves come first because they determine the length of lists.
func Bind(t reflect.Type, root *Node) ([]*Leaf, error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("rows of type %s cannot be read", t)
	}
	var out []*Leaf
	if err := bindFields(&out, t, root, &Leaf{}); err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("has none of the columns wanted")
	}
	slices.SortStableFunc(out, func(a, b *Leaf) int { return len(a.Lists) - len(b.Lists) })
	FirstMakes(out)
	return out, nil
}

// FirstMakes makes the first leaf of each list create its elements. A Reader
// that drops leaves calls it again.
func FirstMakes(leaves []*Leaf) {
	made := map[*Node]bool{}
	for _, l := range leaves {
		l.Lists = slices.Clone(l.Lists) // leaves of one struct share them
		for i := range l.Lists {
			n := l.Lists[i].node
			l.Lists[i].Makes = !made[n]
			made[n] = true
		}
	}
}

// bindFields binds the fields of a struct at the position in at.
func bindFields(out *[]*Leaf, t reflect.Type, n *Node, at *Leaf) error {
	for _, f := range schema.FieldsOf(t) {
		inner := *at
		inner.Name = strings.TrimPrefix(at.Name+"."+f.Name, ".")
		inner.Off += f.Offset
		inner.Payload = at.Payload || f.Payload
		column, kind := n.Child(f.Name), f.Type.Kind()
		switch {
		case column != nil && !column.null():
		case kind == reflect.Slice || kind == reflect.Pointer || f.Optional:
			continue
		case kind == reflect.Struct: // may be missing if each of its columns may be
			column = &Node{Leaf: -1}
		default:
			return fmt.Errorf("has no column %s", inner.Name)
		}
		if err := bindField(out, f.Type, column, &inner); err != nil {
			return err
		}
	}
	return nil
}

func bindField(out *[]*Leaf, t reflect.Type, n *Node, at *Leaf) error {
	switch {
	case t.Kind() == reflect.Struct && n.Leaf < 0 && !n.Repeated:
		return bindFields(out, t, n, at)
	case t.Kind() == reflect.Slice:
		return bindList(out, t, n, at)
	}
	elem := t
	if t.Kind() == reflect.Pointer {
		elem = t.Elem()
	}
	kind, known := kinds[elem.Kind()]
	if !known {
		return fmt.Errorf("column %s cannot be read into a %s", at.Name, t)
	}
	convert, ok := n.conversion(kind)
	if !ok {
		return fmt.Errorf("column %s is %s, not %s", at.Name, n.Describe(), kind)
	}
	*out = append(*out, &Leaf{Node: n, Name: at.Name, Lists: at.Lists, Off: at.Off, Typ: t, Kind: kind, Optional: n.Optional,
		Pointer: t != elem, Payload: at.Payload, Convert: convert})
	return nil
}

func bindList(out *[]*Leaf, t reflect.Type, n *Node, at *Leaf) error {
	repeated, element := n.Element()
	if element == nil || n.Repeated {
		return fmt.Errorf("column %s is %s, not a list", at.Name, n.Describe())
	}
	inner := *at
	inner.Off = 0
	inner.Lists = append(slices.Clip(at.Lists), List{Off: at.Off, Typ: t, Size: t.Elem().Size(), Rep: byte(repeated.Rep),
		Def: byte(repeated.Def), node: repeated, Optional: n.Optional})
	if err := bindField(out, t.Elem(), element, &inner); err != nil {
		return err
	}
	if n := len(*out); t.Elem().Kind() != reflect.Struct {
		(*out)[n-1].Member = true
	}
	switch t.Elem().Kind() {
	case reflect.Int32, reflect.Int64, reflect.Float32, reflect.Float64:
		(*out)[len(*out)-1].Bulk = true
	}
	return nil
}

// Describe says what a column is, in errors.
func (n *Node) Describe() string {
	switch _, element := n.Element(); {
	case n.Leaf >= 0 && n.Repeated:
		return "repeated " + n.Kind.String()
	case n.Leaf >= 0:
		return n.Kind.String()
	case n.Repeated:
		return "a repeated group"
	case element != nil:
		return "a list"
	}
	return "a group of columns"
}

// Under reports whether the leaf is one of the columns named, or below one.
func (l *Leaf) Under(columns []string) bool {
	return slices.ContainsFunc(columns, func(name string) bool { return l.Name == name || strings.HasPrefix(l.Name, name+".") })
}

// Kept reports whether rows keep pointers into a page's values.
func (l *Leaf) Kept() bool { return l.Bulk || l.Pointer }

// EmptyLevel is the definition level of a list without elements.
func (l *List) EmptyLevel(s *Slice) byte {
	if l.Optional && s.Data == nil {
		return l.Def - 2
	}
	return l.Def - 1
}
