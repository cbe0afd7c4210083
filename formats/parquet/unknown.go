package parquet

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats"
)

// Unknown is the columns of a file for which a row type has no field: a newer
// minor version of the schema added them, or rows are read without a row type.
// Their values are read into structs of a generated type, separate from the
// rows, and written from there into files of the same schema.
type Unknown struct {
	typ  reflect.Type
	note string // the file's formats.Marks

	meta   *fileMeta // of a file that has them
	root   *node
	leaves []*node
}

// Type is part of formats.UnknownColumns.
func (u *Unknown) Type() reflect.Type { return u.typ }

// maxUnknown bounds the number of unknown columns of a schema.
const maxUnknown = 1000

// Unknown returns the columns of the file for which T has no field, at any
// depth; nil when there are none.
func (r *Reader[T]) Unknown() (*Unknown, error) {
	f := r.f
	if r.bound == len(f.leaves) {
		return nil, nil
	}
	marks, err := formats.ParseMarks(f.Noted(formats.MarksKey))
	if err != nil {
		return nil, formats.Invalid(f.name, "", err, "the footer's metadata %q is damaged", formats.MarksKey)
	}
	m := unknownMaker{marks: marks, left: maxUnknown}
	fields, err := m.fields(f.root, formats.FieldsOf(reflect.TypeFor[T]()), "")
	if err != nil {
		return nil, formats.Invalid(f.name, "read it with the version that wrote it", nil, "%s", err)
	}
	return &Unknown{typ: reflect.StructOf(fields), note: f.Noted(formats.MarksKey), meta: f.meta, root: f.root,
		leaves: f.leaves}, nil
}

// NewNamedReader returns a reader of the columns with these names, in the order
// of the names, or of all columns for no names.
func (f *File) NewNamedReader(names []string, first, rows int64) (*UnknownReader, error) {
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
			return nil, formats.Invalid(f.name, "its columns are "+strings.Join(known, ", "), nil, "has no column %q", name)
		}
		if !slices.Contains(root.children, c) {
			root.children = append(root.children, c)
		}
	}
	fields, err := (&unknownMaker{left: maxUnknown}).fields(&root, nil, "")
	if err != nil {
		return nil, formats.Invalid(f.name, "", nil, "%s", err)
	}
	return (&Unknown{typ: reflect.StructOf(fields)}).NewReader(f, first, rows, false)
}

// unknownMaker generates the type of unknown columns.
type unknownMaker struct {
	marks formats.Marks
	left  int // number of columns that are still allowed
}

var unknownTypes = map[format.Type]reflect.Type{
	format.Boolean: reflect.TypeFor[bool](), format.Int32: reflect.TypeFor[int32](), format.Int64: reflect.TypeFor[int64](),
	format.Float: reflect.TypeFor[float32](), format.Double: reflect.TypeFor[float64](),
	format.ByteArray: reflect.TypeFor[string](),
}

// fields returns fields for the columns under n that are not among known
// fields.
func (m *unknownMaker) fields(n *node, known []formats.Field, prefix string) ([]reflect.StructField, error) {
	var out []reflect.StructField
	for _, c := range n.children {
		path := prefix + c.name
		f := formats.Field{Name: c.name, Payload: slices.Contains(m.marks.Payload, path),
			Volatile: slices.Contains(m.marks.Volatile, path)}
		var err error
		if i := slices.IndexFunc(known, func(f formats.Field) bool { return f.Name == c.name }); i >= 0 {
			f = known[i]
			f.Type, err = m.inside(c, f.Type, path)
		} else {
			f.Type, err = m.typ(c, path, true)
		}
		switch {
		case err != nil:
			return nil, err
		case f.Type == nil:
			continue
		case strings.ContainsAny(c.name, ",\"`\\") || c.name == "" || c.name == "-":
			return nil, fmt.Errorf("column %q cannot be carried: its name", path)
		}
		out = append(out, reflect.StructField{Name: "C" + strconv.Itoa(len(out)), Type: f.Type, Tag: f.Tag()})
	}
	return out, nil
}

// inside returns the type of the unknown columns within a known column; nil
// when there are none.
func (m *unknownMaker) inside(c *node, known reflect.Type, path string) (reflect.Type, error) {
	_, element := c.element()
	list := known.Kind() == reflect.Slice && element != nil
	if list {
		c, known = element, known.Elem()
	}
	if known.Kind() != reflect.Struct {
		return nil, nil
	}
	fields, err := m.fields(c, formats.FieldsOf(known), path+".")
	if err != nil || len(fields) == 0 {
		return nil, err
	}
	if list {
		return reflect.SliceOf(reflect.StructOf(fields)), nil
	}
	return reflect.StructOf(fields), nil
}

// typ returns the type of an unknown column. A nullable one is a pointer,
// except in a list.
func (m *unknownMaker) typ(c *node, path string, null bool) (reflect.Type, error) {
	list, element := c.element()
	switch {
	case c.leaf >= 0 && !c.repeated && unknownTypes[c.kind] != nil:
		if m.left--; m.left < 0 {
			return nil, fmt.Errorf("has more than %d columns that this version does not know", maxUnknown)
		}
		t := unknownTypes[c.kind]
		if c.optional && null {
			t = reflect.PointerTo(t)
		}
		return t, nil
	case list != nil && !c.repeated && !element.repeated:
		t, err := m.typ(element, path, false)
		if err != nil {
			return nil, err
		}
		return reflect.SliceOf(t), nil
	case c.leaf < 0 && !c.repeated && !c.optional:
		fields, err := m.fields(c, nil, path+".")
		if err != nil {
			return nil, err
		}
		return reflect.StructOf(fields), nil
	}
	return nil, fmt.Errorf("column %s cannot be carried: it is %s, of a kind that this version has no columns of", path,
		c.describe())
}

// UnknownReader reads the unknown columns of rows in order.
type UnknownReader struct {
	reader
	of   *Unknown
	head bool
}

// Head reports whether the payload is left out.
func (r *UnknownReader) Head() bool { return r.head }

// Name returns the name of the file in errors.
func (r *UnknownReader) Name() string { return r.f.name }

// NewReader returns a reader of the unknown columns of rows [first,
// first+rows); head leaves the payload out. The file must be the one in which
// they were found.
func (u *Unknown) NewReader(f *File, first, rows int64, head bool) (*UnknownReader, error) {
	leaves, err := bind(u.typ, f.root)
	if err != nil {
		return nil, formats.Invalid(f.name, "", nil, "%s", err)
	}
	r, err := f.newReader(leaves, first, rows)
	if err != nil {
		return nil, err
	}
	if head {
		r.dropPayload(nil)
	}
	return &UnknownReader{r, u, head}, nil
}

// Read sets the unknown columns of rows and returns how many it set, and io.EOF
// after the last row.
func (r *UnknownReader) Read(rows []formats.Unknown) (n int, err error) {
	defer r.refusePanic(&err)
	r.budget.releaseRows()
	all := rowSlice{base: reflect.MakeSlice(reflect.SliceOf(r.of.typ), len(rows), len(rows)).UnsafePointer(),
		stride: r.of.typ.Size(), n: len(rows)}
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
			rows[n] = formats.Unknown{Columns: r.of, At: all.at(n)}
			n++
		}
	}
	return n, nil
}

// Same reports whether two files' unknown columns are the same.
func (u *Unknown) Same(v *Unknown) bool {
	return u == v || u != nil && v != nil && u.typ == v.typ && u.note == v.note
}

// NewWriterWith begins a file with the columns of T and unknown ones, in the
// form of the file in which they were found, and with its marks. Rows of T must
// be carriers that all have these columns.
func NewWriterWith[T any](out io.Writer, u *Unknown) (*Writer[T], error) {
	l, err := u.layout(layoutOf[T](), reflect.TypeFor[T]())
	if err != nil {
		return nil, err
	}
	w := newWriter[T](out, l)
	w.unknown = u
	if u.note != "" {
		w.Note(formats.MarksKey, u.note)
	}
	return w, nil
}

// layout returns the layout of a row type, with the unknown columns.
func (u *Unknown) layout(of *layout, t reflect.Type) (*layout, error) {
	meta := *of.meta
	meta.Schema, meta.ColumnOrders = u.meta.Schema, u.meta.ColumnOrders
	l := &layout{meta: &meta, leaves: make([]*leaf, len(u.leaves)), paths: make([][]string, len(u.leaves)),
		encs: make([]format.Encoding, len(u.leaves))}
	known, err := bind(t, u.root)
	if err != nil {
		return nil, err
	}
	more, err := bind(u.typ, u.root)
	if err != nil {
		return nil, err
	}
	for _, b := range more {
		b.unknown = true
	}
	for _, b := range slices.Concat(known, more) {
		l.leaves[b.node.leaf] = b
	}
	encodings := map[string]format.Encoding{}
	for i, path := range of.paths {
		encodings[columnName(path)] = of.encs[i]
	}
	for i, n := range u.leaves {
		if l.leaves[i] == nil {
			return nil, fmt.Errorf("column %s cannot be written", columnName(n.path))
		}
		l.paths[i] = n.path
		if enc, is := encodings[columnName(n.path)]; is {
			l.encs[i] = enc
		} else {
			l.encs[i] = u.encoding(n)
		}
	}
	return l, nil
}

// encoding returns the encoding in the file, if a chunk can write it.
func (u *Unknown) encoding(n *node) format.Encoding {
	plain := format.Plain
	if n.kind == format.ByteArray {
		plain = format.DeltaLengthByteArray
	}
	if len(u.meta.RowGroups) == 0 {
		return plain
	}
	for _, s := range u.meta.RowGroups[0].Columns[n.leaf].MetaData.EncodingStats {
		if s.PageType != format.DataPageV2 {
			continue
		}
		switch enc, kind := s.Encoding, n.kind; {
		case enc == format.RLEDictionary && kind == format.ByteArray,
			enc == format.DeltaBinaryPacked && (kind == format.Int32 || kind == format.Int64),
			enc == format.ByteStreamSplit && (kind == format.Float || kind == format.Double):
			return enc
		}
	}
	return plain
}

// unknownOf returns the unknown columns of rows, which are carriers.
func unknownOf[T any](rows []T, u *Unknown) (out []*formats.Unknown, err error) {
	for i := range rows {
		row, _ := any(&rows[i]).(formats.Carrier)
		its := row.Unknown()
		if its == nil || its.Columns.Type() != u.typ {
			return nil, fmt.Errorf("row %d has other columns that this version does not know than the row before", i)
		}
		if !its.Fits(row) {
			return nil, fmt.Errorf("row %d: its lists have other lengths than in columns that this version "+
				"does not know", i)
		}
		out = append(out, its)
	}
	return out, nil
}
