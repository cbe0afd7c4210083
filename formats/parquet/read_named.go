package parquet

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage/fault"
)

// Unknown returns the columns of the file that T has no field for: a newer minor
// version of the schema added them.
func (r *Reader[T]) Unknown() (columns []string) {
	for _, n := range r.f.leaves {
		if !slices.ContainsFunc(r.leaves, func(l *leaf) bool { return l.node == n }) {
			columns = append(columns, columnName(n.path))
		}
	}
	return columns
}

// NamedReader reads columns by their names, without a row type. It makes rows of a
// struct type with a field for each column; a nullable one is a pointer, except in a
// list.
type NamedReader struct {
	reader
	typ reflect.Type
}

// NewNamedReader returns a reader of the columns with these names, in the order
// of the names, or of all columns for no names.
func (f *File) NewNamedReader(names []string, first, rows int64) (*NamedReader, error) {
	root := *f.root
	if len(names) > 0 {
		root.children = nil
	}
	for _, name := range names {
		c := f.root.child(name)
		if c == nil {
			var known []string
			for _, c := range f.root.children {
				known = append(known, c.name)
			}
			return nil, fault.Invalid(f.name, "its columns are "+strings.Join(known, ", "), nil, "has no column %q", name)
		}
		if !slices.Contains(root.children, c) {
			root.children = append(root.children, c)
		}
	}
	left := maxNamed
	typ, err := root.structType(&left)
	if err != nil {
		return nil, fault.Invalid(f.name, "", nil, "%s", err)
	}
	leaves, err := bind(typ, f.root)
	if err != nil {
		return nil, fault.Invalid(f.name, "", nil, "%s", err)
	}
	r, err := f.newReader(leaves, first, rows)
	return &NamedReader{r, typ}, err
}

// Read sets rows to new structs and returns how many it set, and io.EOF after the
// last row.
func (r *NamedReader) Read(rows []reflect.Value) (n int, err error) {
	defer r.refusePanic(&err)
	r.budget.releaseRows()
	made := reflect.MakeSlice(reflect.SliceOf(r.typ), len(rows), len(rows))
	all := rowSlice{base: made.UnsafePointer(), stride: r.typ.Size(), n: len(rows)}
	for n < len(rows) {
		if r.next >= r.end {
			return n, io.EOF
		}
		if err := r.open(); err != nil {
			return n, err
		}
		k := r.adjacent(len(rows) - n)
		if err := r.fill(all.between(n, n+k)); err != nil {
			return n, err
		}
		for range k {
			rows[n] = made.Index(n)
			n++
		}
	}
	return n, nil
}

// maxNamed bounds the number of columns that are read by name.
const maxNamed = 1000

var namedTypes = map[format.Type]reflect.Type{
	format.Boolean: reflect.TypeFor[bool](), format.Int32: reflect.TypeFor[int32](), format.Int64: reflect.TypeFor[int64](),
	format.Float: reflect.TypeFor[float32](), format.Double: reflect.TypeFor[float64](),
	format.ByteArray: reflect.TypeFor[string](),
}

// structType returns a struct with a field for each column of a group. It may have
// left columns, and lowers the number.
func (n *node) structType(left *int) (reflect.Type, error) {
	var fields []reflect.StructField
	for _, c := range n.children {
		if strings.ContainsAny(c.name, ",\"`\\") || c.name == "" || c.name == "-" {
			return nil, fmt.Errorf("column %q cannot be read: its name", c.name)
		}
		f := schema.Field{Name: c.name}
		var err error
		if f.Type, err = c.valueType(left, true); err != nil {
			return nil, err
		}
		fields = append(fields, reflect.StructField{Name: "C" + strconv.Itoa(len(fields)), Type: f.Type, Tag: f.Tag()})
	}
	return reflect.StructOf(fields), nil
}

// valueType returns the type of a column's values. A nullable one is a pointer if
// null is true.
func (n *node) valueType(left *int, null bool) (reflect.Type, error) {
	list, element := n.element()
	switch {
	case n.leaf >= 0 && !n.repeated && namedTypes[n.kind] != nil:
		if *left--; *left < 0 {
			return nil, fmt.Errorf("has more than %d columns", maxNamed)
		}
		t := namedTypes[n.kind]
		if n.optional && null {
			t = reflect.PointerTo(t)
		}
		return t, nil
	case list != nil && !n.repeated && !element.repeated:
		t, err := element.valueType(left, false)
		if err != nil {
			return nil, err
		}
		return reflect.SliceOf(t), nil
	case n.leaf < 0 && !n.repeated && !n.optional:
		return n.structType(left)
	}
	return nil, fmt.Errorf("column %s cannot be read: it is %s, of a kind that this version has no columns of", n.name, n.describe())
}
