package reader

import (
	"io"
	"reflect"
	"slices"

	"github.com/rollmill/rollmill/formats/parquet/layout"
	"github.com/rollmill/rollmill/storage/fault"
)

// OpenForeign opens a file that another tool wrote with our column names. It
// accepts more codecs than Open, and refuses a group that has two columns of
// one name. For a positive limit it is OpenAhead.
func OpenForeign(src io.ReaderAt, size int64, name string, limit int64) (*layout.File, error) {
	var f *layout.File
	var err error
	if limit > 0 {
		f, err = layout.OpenAhead(src, size, name, limit, foreign)
	} else {
		f, err = layout.OpenCodecs(src, size, name, foreign)
	}
	if err != nil {
		return nil, err
	}
	if twice := f.Root.Twice(""); twice != "" {
		return nil, fault.Invalid(name, "", nil, "has two columns named %s", twice)
	}
	return f, nil
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
func NewForeignReader[T any](f *layout.File, wanted func(column string) bool, first, rows int64) (*Reader[T],
	map[string]bool, error) {
	var leaves []*layout.Leaf
	if err := layout.BindFields(&leaves, reflect.TypeFor[T](), f.Root, &layout.Leaf{Foreign: true}); err != nil {
		return nil, nil, fault.Invalid(f.Name(),
			"write the column with a type that `rollmill help datasets` names, or convert the files with `rollmill import`",
			nil, "%s", err)
	}
	has := map[string]bool{}
	for _, l := range leaves {
		has[l.Name] = true
	}
	leaves = slices.DeleteFunc(leaves, func(l *layout.Leaf) bool { return !wanted(l.Name) })
	slices.SortStableFunc(leaves, func(a, b *layout.Leaf) int { return len(a.Lists) - len(b.Lists) })
	layout.FirstMakes(leaves)
	r, err := newReader(f, leaves, first, rows)
	return &Reader[T]{r}, has, err
}
