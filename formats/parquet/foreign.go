package parquet

import (
	"io"
	"reflect"
	"slices"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/storage/fault"
)

// OpenForeign opens a file that another tool wrote with our column names. It
// accepts more codecs than Open, and refuses a group that has two columns of
// one name. For a positive limit it is OpenAhead.
func OpenForeign(src io.ReaderAt, size int64, name string, limit int64) (*File, error) {
	var f *File
	var err error
	if limit > 0 {
		f, err = openAhead(src, size, name, limit, foreign)
	} else {
		f, err = open(src, size, name, foreign)
	}
	if err != nil {
		return nil, err
	}
	if twice := f.root.twice(""); twice != "" {
		return nil, fault.Invalid(name, "", nil, "has two columns named %s", twice)
	}
	return f, nil
}

// twice returns a name that two columns of a group have, "" for none.
func (n *node) twice(prefix string) string {
	seen := make(map[string]bool, len(n.children))
	for _, c := range n.children {
		path := prefix + c.name
		if seen[c.name] {
			return path
		}
		seen[c.name] = true
		if inner := c.twice(path + "."); inner != "" {
			return inner
		}
	}
	return ""
}

// NewForeignReader returns a reader of a file that another tool wrote, and the
// columns of T that the file has, by path: "messages.content". It reads those of
// them that are wanted. It differs from NewReader in two ways. Every field of T
// may be missing in the file. And a column may have another type than its field,
// if nothing is lost: integers and floats of another width, decimals of at most
// 18 digits, timestamps in another unit. A double is rounded to a float. A
// column of any other type, a number that does not fit, a string that is not
// UTF-8 and a null in a list of numbers or strings are a fault.Input with
// the column.
func NewForeignReader[T any](f *File, wanted func(column string) bool, first, rows int64) (*Reader[T],
	map[string]bool, error) {
	var leaves []*leaf
	if err := bindFields(&leaves, reflect.TypeFor[T](), f.root, &leaf{foreign: true}); err != nil {
		return nil, nil, fault.Invalid(f.name,
			"write the column with a type that `rollmill help datasets` names, or convert the files with `rollmill import`",
			nil, "%s", err)
	}
	has := map[string]bool{}
	for _, l := range leaves {
		has[l.name] = true
	}
	leaves = slices.DeleteFunc(leaves, func(l *leaf) bool { return !wanted(l.name) })
	slices.SortStableFunc(leaves, func(a, b *leaf) int { return len(a.lists) - len(b.lists) })
	firstMakes(leaves)
	r, err := f.newReader(leaves, first, rows)
	return &Reader[T]{r}, has, err
}

// null reports whether a column has nothing but nulls by its type, as tools
// write one whose type they do not know.
func (n *node) null() bool {
	if n.leaf >= 0 {
		_, null := annotation(n.schema).(*format.NullType)
		return null
	}
	_, element := n.element()
	return element != nil && element.null()
}

// isList reports whether a group is a list of today's form, of three levels.
func (n *node) isList() bool {
	if _, is := annotation(n.schema).(*format.ListType); !is {
		return annotation(n.schema) == nil
	}
	return elementOf(n) != n.children[0]
}

// isText reports whether a column holds text.
func (n *node) isText() bool {
	switch n.schema.LogicalType.Value.(type) {
	case *format.StringType, *format.EnumType, *format.JsonType:
		return n.kind == format.ByteArray
	case nil:
		t := n.schema.ConvertedType
		return n.kind == format.ByteArray && t.Valid &&
			(t.V == deprecated.UTF8 || t.V == deprecated.Enum || t.V == deprecated.Json)
	}
	return false
}
