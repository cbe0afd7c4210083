package parquet

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats/schema"
)

// leaf is one column, bound to the field of a row type that holds its values.
type leaf struct {
	node  *node
	name  string
	lists []list  // from the row to the field, outermost first
	off   uintptr // of the field in the row, or in an element of the last list
	typ   reflect.Type
	kind  format.Type // of the field; the column's own, but for a column of another tool
	bulk  bool        // the field is a list of numbers: several values are set at once

	optional bool // the column itself may be null
	payload  bool // it belongs to a field with the tag rollmill:"payload"

	foreign bool                // another tool wrote the column: see NewForeignReader
	member  bool                // the field is an element of a list, not one of its columns
	instant bool                // the field is a timestamp
	convert func(*values) error // of a foreign column whose values are not of the field's kind; else nil
}

// list is a repeated level between the row and a leaf.
type list struct {
	off  uintptr // of the slice in the row, or in an element of the list before
	typ  reflect.Type
	size uintptr // of an element
	rep  byte    // level at which an element repeats
	def  byte    // level from which an element is there

	node     *node
	optional bool // the list may be null
	makes    bool // this leaf is the first of the list: it makes the elements
}

var kinds = map[reflect.Kind]format.Type{
	reflect.Bool: format.Boolean, reflect.Int32: format.Int32, reflect.Int64: format.Int64,
	reflect.Float32: format.Float, reflect.Float64: format.Double, reflect.String: format.ByteArray,
}

// bind finds the column of every field of a row type. A field that may be null,
// or is a list, may be missing in the file, which is then older; any other must
// be there. Shallow leaves come first because they determine the length of
// lists.
func bind(t reflect.Type, root *node) ([]*leaf, error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("rows of type %s cannot be read", t)
	}
	var out []*leaf
	if err := bindFields(&out, t, root, &leaf{}); err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("has none of the columns wanted")
	}
	slices.SortStableFunc(out, func(a, b *leaf) int { return len(a.lists) - len(b.lists) })
	firstMakes(out)
	return out, nil
}

// firstMakes makes the first leaf of each list create its elements. A Reader
// that drops leaves calls it again.
func firstMakes(leaves []*leaf) {
	made := map[*node]bool{}
	for _, l := range leaves {
		l.lists = slices.Clone(l.lists) // leaves of one struct share them
		for i := range l.lists {
			n := l.lists[i].node
			l.lists[i].makes = !made[n]
			made[n] = true
		}
	}
}

// bindFields binds the fields of a struct at the position in at.
func bindFields(out *[]*leaf, t reflect.Type, n *node, at *leaf) error {
	for _, f := range schema.FieldsOf(t) {
		inner := *at
		inner.name = strings.TrimPrefix(at.name+"."+f.Name, ".")
		inner.off += f.Offset
		inner.payload, inner.instant = at.payload || f.Payload, f.Instant
		column, kind := n.child(f.Name), f.Type.Kind()
		switch {
		case at.foreign && (column == nil || column.null()):
			continue
		case column != nil:
		case kind == reflect.Slice || kind == reflect.Pointer || f.Optional:
			continue
		case kind == reflect.Struct: // may be missing if each of its columns may be
			column = &node{leaf: -1}
		default:
			return fmt.Errorf("has no column %s", inner.name)
		}
		if err := bindField(out, f.Type, column, &inner); err != nil {
			return err
		}
	}
	return nil
}

func bindField(out *[]*leaf, t reflect.Type, n *node, at *leaf) error {
	switch {
	case t.Kind() == reflect.Struct && n.leaf < 0 && !n.repeated:
		if at.foreign && annotation(n.schema) != nil {
			return fmt.Errorf("column %s is %s, not a group of columns", at.name, annotation(n.schema))
		}
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
		return fmt.Errorf("column %s cannot be read into a %s", at.name, t)
	}
	l := &leaf{node: n, name: at.name, lists: at.lists, off: at.off, typ: t, kind: kind, optional: n.optional,
		payload: at.payload, foreign: at.foreign, instant: at.instant}
	if l.foreign {
		if err := l.adapt(); err != nil {
			return err
		}
	} else if n.leaf < 0 || n.repeated || n.kind != kind {
		return fmt.Errorf("column %s is %s, not %s", at.name, n.describe(), kind)
	}
	*out = append(*out, l)
	return nil
}

func bindList(out *[]*leaf, t reflect.Type, n *node, at *leaf) error {
	repeated, element := n.element()
	if element == nil || n.repeated || at.foreign && !n.isList() {
		return fmt.Errorf("column %s is %s, not a list", at.name, n.describe())
	}
	inner := *at
	inner.off = 0
	inner.lists = append(slices.Clip(at.lists), list{off: at.off, typ: t, size: t.Elem().Size(), rep: byte(repeated.rep),
		def: byte(repeated.def), node: repeated, optional: n.optional})
	if err := bindField(out, t.Elem(), element, &inner); err != nil {
		return err
	}
	if n := len(*out); t.Elem().Kind() != reflect.Struct {
		(*out)[n-1].member = true
	}
	switch t.Elem().Kind() {
	case reflect.Int32, reflect.Int64, reflect.Float32, reflect.Float64:
		(*out)[len(*out)-1].bulk = true
	}
	return nil
}

func (n *node) describe() string {
	switch _, element := n.element(); {
	case n.leaf >= 0 && n.repeated:
		return "repeated " + n.kind.String()
	case n.leaf >= 0:
		return n.kind.String()
	case n.repeated:
		return "a repeated group"
	case element != nil:
		return "a list"
	}
	return "a group of columns"
}

// kept reports whether rows keep pointers into a page's values.
func (l *leaf) kept() bool { return l.bulk || l.typ.Kind() == reflect.Pointer }
