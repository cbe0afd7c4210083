package inspect

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/joined"
)

// eachRow calls f with columns of the rows of a range, until it returns false. A
// thin dataset also has the columns of its base. It returns an error for a table or a
// column that does not exist.
func eachRow(ctx context.Context, d *dataset.Dataset, table string, names []string, of dataset.Range,
	f func(Row) (bool, error)) error {
	own, ofBase := split(d, table, names)
	if len(ofBase) == 0 {
		return eachOwn(ctx, d, table, names, of, f)
	}
	s, err := joined.Of(ctx, d)
	if err != nil {
		return err
	}
	if len(own) == 0 {
		return eachOwn(ctx, s.Base, "", names, of, f)
	}
	next, stop := iter.Pull2(func(yield func(Row, error) bool) {
		if err := eachOwn(ctx, d, "", own, of, func(r Row) (bool, error) { return yield(r, nil), nil }); err != nil {
			yield(Row{}, err)
		}
	})
	defer stop()
	return eachOwn(ctx, s.Base, "", ofBase, of, func(base Row) (bool, error) {
		thin, err, _ := next()
		if err != nil {
			return false, err
		}
		both, is := append(thin.Is, base.Is...), make(Values, len(names))
		for i, name := range names {
			is[i] = Value{name, both.of(name)}
		}
		return f(Row{base.Row, is})
	})
}

// split splits the names of columns into those of the dataset and those of its base.
// The advantages of a base were made of other rewards than scores have.
func split(d *dataset.Dataset, table string, names []string) (own, ofBase []string) {
	for _, name := range names {
		if table == "" && d.Base != nil && name != "advantage" && hasColumn(formats.KindTrajectories, name) && !hasColumn(d.Kind, name) {
			ofBase = append(ofBase, name)
		} else {
			own = append(own, name)
		}
	}
	return own, ofBase
}

func hasColumn(kind formats.Kind, name string) bool {
	return slices.ContainsFunc(formats.Columns(kind), func(c formats.Column) bool {
		top, _, _ := strings.Cut(c.Path, ".")
		return top == name
	})
}
