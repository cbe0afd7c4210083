package reader

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats/parquet/layout"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage/fault"
)

// Unknown returns the columns of the file that T has no field for: a newer minor
// version of the schema added them.
func (r *Reader[T]) Unknown() (columns []string) {
	for _, n := range r.f.Leaves {
		if !slices.ContainsFunc(r.leaves, func(l *layout.Leaf) bool { return l.Node == n }) {
			columns = append(columns, layout.ColumnName(n.Path))
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
func NewNamedReader(f *layout.File, names []string, first, rows int64) (*NamedReader, error) {
	root := *f.Root
	if len(names) > 0 {
		root.Children = nil
	}
	for _, name := range names {
		c := f.Root.Child(name)
		if c == nil {
			return nil, fault.Invalid(f.Name(), "its columns are "+strings.Join(f.Names(), ", "), nil, "has no column %q", name)
		}
		if !slices.Contains(root.Children, c) {
			root.Children = append(root.Children, c)
		}
	}
	left := maxNamed
	typ, err := structType(&root, &left)
	if err != nil {
		return nil, fault.Invalid(f.Name(), "", nil, "%s", err)
	}
	leaves, err := layout.Bind(typ, f.Root)
	if err != nil {
		return nil, fault.Invalid(f.Name(), "", nil, "%s", err)
	}
	r, err := newReader(f, leaves, first, rows)
	return &NamedReader{r, typ}, err
}

// Read sets rows to new structs and returns how many it set, and io.EOF after the last row.
func (r *NamedReader) Read(rows []reflect.Value) (n int, err error) {
	defer r.refusePanic(&err)
	r.budget.ReleaseRows()
	made := reflect.MakeSlice(reflect.SliceOf(r.typ), len(rows), len(rows))
	all := layout.RowSlice{Base: made.UnsafePointer(), Stride: r.typ.Size(), N: len(rows)}
	for n < len(rows) {
		if r.next >= r.end {
			return n, io.EOF
		}
		if err := r.open(); err != nil {
			return n, err
		}
		k := r.adjacent(len(rows) - n)
		if err := r.fill(all.Between(n, n+k)); err != nil {
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
func structType(n *layout.Node, left *int) (reflect.Type, error) {
	var fields []reflect.StructField
	for _, c := range n.Children {
		if strings.ContainsAny(c.Name, ",\"`\\") || c.Name == "" || c.Name == "-" {
			return nil, fmt.Errorf("column %q cannot be read: its name", c.Name)
		}
		f := schema.Field{Name: c.Name}
		var err error
		if f.Type, err = valueType(c, left, true); err != nil {
			return nil, err
		}
		fields = append(fields, reflect.StructField{Name: "C" + strconv.Itoa(len(fields)), Type: f.Type, Tag: f.Tag()})
	}
	return reflect.StructOf(fields), nil
}

// valueType returns the type of a column's values. A nullable one is a pointer if
// null is true.
func valueType(n *layout.Node, left *int, null bool) (reflect.Type, error) {
	list, element := n.Element()
	switch {
	case n.Leaf >= 0 && !n.Repeated && namedTypes[n.Kind] != nil:
		if *left--; *left < 0 {
			return nil, fmt.Errorf("has more than %d columns", maxNamed)
		}
		t := namedTypes[n.Kind]
		if n.Optional && null {
			t = reflect.PointerTo(t)
		}
		return t, nil
	case list != nil && !n.Repeated && !element.Repeated:
		t, err := valueType(element, left, false)
		if err != nil {
			return nil, err
		}
		return reflect.SliceOf(t), nil
	case n.Leaf < 0 && !n.Repeated && !n.Optional:
		return structType(n, left)
	}
	return nil, fmt.Errorf("column %s cannot be read: it is %s, of a kind that this version has no columns of", n.Name, n.Describe())
}
