package convert

import (
	"context"
	"iter"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/expression"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage/fault"
)

// tablesOf returns the tables that some files are made from. A filter would drop
// trajectories that these still name.
func tablesOf(ctx context.Context, d *dataset.Dataset, files []exporters.File, keep *expression.Filter) (formats.Tables, error) {
	out := formats.Tables{Columns: d.Columns}
	for _, name := range exporters.Compares(exporters.FormatsOf(files)) {
		if _, has := d.Tables[name]; !has {
			continue
		}
		if keep.Active() {
			return out, fault.Errorf(fault.Usage, "export a dataset that curate filtered",
				"--where and --status choose trajectories, and these formats are made from table %s", name)
		}
		switch name {
		case schema.TablePairs:
			out.Pairs = tableOf[formats.Pair](ctx, d, name)
		case schema.TableLabels:
			out.Labels = tableOf[formats.Label](ctx, d, name)
		}
	}
	return out, nil
}

func tableOf[T any](ctx context.Context, d *dataset.Dataset, table string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		for row, err := range dataset.Each[T](ctx, d, table, dataset.Range{Rows: d.Tables[table].Rows}) {
			if err != nil {
				yield(none, err)
				return
			}
			if !yield(*row, nil) {
				return
			}
		}
	}
}

// scattered reports whether the rows were in more runs of one group each than
// there are groups.
func (e *export) scattered() bool {
	groups, has := e.from.Rows.Tables[schema.TableGroups]
	return has && e.from.Rows.Kind == schema.KindGroups && e.runs > groups.Rows
}
