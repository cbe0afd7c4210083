package submit

import (
	"context"
	"errors"
	"iter"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/backends"
)

// groups yields the dataset's groups in order. Each iteration reads it anew.
func groups(ctx context.Context, d *dataset.Dataset) backends.Groups {
	return func(yield func([]formats.Trajectory, error) bool) {
		stop := errors.New("stop")
		err := dataset.Groups(ctx, d, "", d.All(), (*formats.Trajectory).Group,
			func(_ int64, rows []formats.Trajectory) error {
				if !yield(rows, nil) {
					return stop
				}
				return nil
			})
		if err != nil && !errors.Is(err, stop) {
			yield(nil, err)
		}
	}
}

// runOf returns the run of the first row.
func runOf(ctx context.Context, d *dataset.Dataset) (string, error) {
	type row struct {
		Run string `parquet:"run,dict"`
	}
	rows, err := dataset.ReadAll[row](ctx, d, "", dataset.Range{Rows: min(1, d.Rows)})
	if err != nil || len(rows) == 0 {
		return "", err
	}
	return rows[0].Run, nil
}

// compare gives the trainer the tables of the batch and the findings that it uses, and returns
// the digest of what is submitted, of the rows and of those tables, and the
// tables as they are in the dataset.
func (o *Options) compare(ctx context.Context, d *dataset.Dataset) (digest string, tables formats.Tables, err error) {
	digest = d.RowsDigest.String()
	tables.Columns = d.Columns
	trainer := o.Trainer.Describe()
	for _, name := range trainer.Compares {
		if o.IgnoreTables {
			break
		}
		t, has := d.Tables[name]
		if !has {
			continue
		}
		digest += " " + name + " " + t.RowsDigest.String()
		switch name {
		case schema.TablePairs:
			tables.Pairs = rowsOf[formats.Pair](ctx, d, name)
		case schema.TableLabels:
			tables.Labels = rowsOf[formats.Label](ctx, d, name)
		}
	}
	accepted, err := o.accepted()
	if err == nil && trainer.Use != nil {
		trainer.Use(o.Redact.Tables(tables, nil), accepted)
	}
	return digest, tables, err
}

// rowsOf yields the rows of a table, a few of which are in memory. Each
// iteration reads them anew.
func rowsOf[T any](ctx context.Context, d *dataset.Dataset, table string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		r, err := dataset.NewReader[T](ctx, d, table, dataset.Range{Rows: d.Tables[table].Rows})
		if err != nil {
			yield(none, err)
			return
		}
		for row, err := range r.Each(16) {
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
