package show

import (
	"context"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/joined"
	"github.com/rollmill/rollmill/formats/schema"
)

// Row is a row of a table.
type Row struct {
	Row int64  `json:"row"` // its number
	Is  Values `json:"is"`
}

// EachRow calls f with columns of the rows of a range. A thin
// dataset also has the columns of its base. It returns an error for a table or a column
// that does not exist.
//
// It reads columns by name and has no row types, so that only the columns shown
// are fetched, and those of a newer version can be shown. Package arrow does not
// serve here: it makes batches of one fixed schema from rows in memory.
func EachRow(ctx context.Context, d *dataset.Dataset, table string, names []string, of dataset.Range,
	f func(Row) error) error {
	own, ofBase := split(d, table, names)
	r, err := dataset.NewColumnReader(ctx, d, table, of, own)
	if err != nil {
		return err
	}
	defer r.Close()
	var more *dataset.Reader[reflect.Value]
	if len(ofBase) > 0 {
		s, err := joined.Of(ctx, d)
		if err != nil {
			return err
		}
		if more, err = dataset.NewColumnReader(ctx, s.Base, "", of, ofBase); err != nil {
			return err
		}
		defer more.Close()
	}
	one := make([]reflect.Value, 1)
	for row := of.First; ; row++ {
		if _, err := r.Read(one); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		is := valuesOf(one[0])
		if more != nil {
			if _, err := more.Read(one); err != nil {
				return err
			}
			both := append(is, valuesOf(one[0])...)
			is = nil
			for _, name := range names {
				is = append(is, Value{name, both.Of(name)})
			}
		}
		if len(names) == 0 && table == "" {
			is.asDocumented(d.Kind)
		}
		if err := f(Row{row, is}); err != nil {
			return err
		}
	}
}

// split splits columns into those of the dataset, always some, and those of its base. The
// advantages of a base were made of other rewards than scores have.
func split(d *dataset.Dataset, table string, names []string) (own, ofBase []string) {
	if table != "" || d.Base == nil || len(names) == 0 {
		return names, nil
	}
	own = []string{"trajectory_id"}
	for _, name := range names {
		if name != "advantage" && hasColumn(schema.KindTrajectories, name) && !hasColumn(d.Kind, name) {
			ofBase = append(ofBase, name)
		} else {
			own = append(own, name)
		}
	}
	if len(ofBase) == 0 {
		return names, nil
	}
	return own, ofBase
}

func hasColumn(kind schema.Kind, name string) bool {
	return slices.ContainsFunc(schema.Columns(kind), func(c schema.Column) bool {
		return c.Path == name || strings.HasPrefix(c.Path, name+".")
	})
}
