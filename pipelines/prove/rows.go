package prove

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"maps"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
)

// atOnce is the number of rows that are decoded at once.
const atOnce = 64

// compare returns the first number of a dataset that is another in the one that was made
// again: tables of one rows digest are equal, and of others the rows are compared. A dataset
// that is not sound is read without its manifest's checks.
func compare(ctx context.Context, stored, made *dataset.Dataset, sound bool) (*Difference, error) {
	digests := func(d *dataset.Dataset, name string) formats.RowsDigest {
		if name == "" {
			return d.RowsDigest
		}
		return d.Tables[name].RowsDigest
	}
	for _, name := range append([]string{""}, slices.Sorted(maps.Keys(stored.Tables))...) {
		if name == schema.TablePlan && (stored.Params[drawn] != nil || stored.Params["plan-mix"] != nil) {
			continue
		}
		was, is := digests(stored, name), digests(made, name)
		if sound && was == is {
			continue
		}
		if compareRows := tables[cmp.Or(schema.Kind(name), stored.Kind)]; compareRows != nil {
			if d, err := compareRows(ctx, stored, made, name, sound); err != nil {
				return nil, err
			} else if d != nil {
				return d.within(name), nil
			}
		}
		if name != "" && was != is {
			return &Difference{Column: name, Stored: was.String(), Computed: is.String()}, nil
		}
	}
	return nil, nil
}

// tables compare the rows of the tables that are made again, by the kind of the main table
// or the name of another, and return the first difference.
var tables = map[schema.Kind]func(ctx context.Context, stored, made *dataset.Dataset, name string, sound bool) (*Difference, error){
	schema.KindTrajectories: table[formats.Trajectory], schema.KindScores: table[formats.Score], schema.KindGroups: table[formats.Member],
	schema.TableGroups: table[formats.GroupStats], schema.TablePairs: table[formats.Pair], schema.TableLabels: table[formats.Label],
	schema.TableDecisions: table[decision.Decision], schema.TablePlan: table[decision.Planned], schema.TableExamples: table[decision.ExampleStats],
}

func table[T any](ctx context.Context, stored, made *dataset.Dataset, name string, sound bool) (*Difference, error) {
	return same(rows[T](ctx, stored, name, sound), rows[T](ctx, made, name, true))
}

// same returns the first number that differs.
func same[T any](stored, made iter.Seq2[*T, error]) (*Difference, error) {
	next, stop := iter.Pull2(made)
	defer stop()
	n := int64(0)
	for row, err := range stored {
		if err != nil {
			return nil, err
		}
		other, err, more := next()
		if err != nil {
			return nil, err
		}
		if !more {
			return &Difference{Row: n, Column: "rows", Stored: "one more", Computed: n}, nil
		}
		if d := differ(row, other); d != nil {
			d.Row = n
			return d, nil
		}
		n++
	}
	if _, err, more := next(); err != nil || more {
		return &Difference{Row: n, Column: "rows", Stored: n, Computed: "one more"}, err
	}
	return nil, nil
}

// rows yields the rows of a table. Those of one that is not sound are read from the files
// that the manifest names, whatever it says about them.
func rows[T any](ctx context.Context, d *dataset.Dataset, table string, sound bool) iter.Seq2[*T, error] {
	if sound {
		all := d.All()
		if t, has := d.Tables[table]; has {
			all = dataset.Range{Rows: t.Rows}
		}
		return dataset.Each[T](ctx, d, table, all)
	}
	return func(yield func(*T, error) bool) {
		b, err := storage.Open(ctx, d.URI())
		if err != nil {
			yield(nil, err)
			return
		}
		for _, part := range d.PartsOf(table) {
			for row, err := range file[T](ctx, b, part.Name) {
				if !yield(row, err) || err != nil {
					return
				}
			}
		}
	}
}

// file yields the rows of a Parquet file: columns by name, whoever wrote them.
func file[T any](ctx context.Context, b *storage.Bucket, name string, columns ...string) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		if err := each(ctx, b, name, columns, func(row *T) bool { return yield(row, nil) }); err != nil {
			yield(nil, err)
		}
	}
}

func each[T any](ctx context.Context, b *storage.Bucket, name string, columns []string, yield func(*T) bool) error {
	src, err := b.Open(ctx, name)
	if err != nil {
		return err
	}
	defer src.Close() // read only
	f, err := parquet.OpenForeign(src, src.Size(), name, 0)
	if err != nil {
		return err
	}
	wanted := func(c string) bool { return len(columns) == 0 || slices.Contains(columns, c) }
	r, _, err := parquet.NewForeignReader[T](f, wanted, 0, f.Rows())
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		buf := make([]T, atOnce)
		n, err := r.Read(buf)
		for i := range buf[:n] {
			if !yield(&buf[i]) {
				return nil
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// payloads returns the first row whose conversation is not the one that was recorded.
func payloads(ctx context.Context, d *dataset.Dataset) (*Difference, error) {
	n := int64(0)
	for t, err := range rows[formats.Trajectory](ctx, d, "", false) {
		if err != nil {
			return nil, err
		}
		written := t.PayloadDigest
		if t.SetPayloadDigest(); t.PayloadDigest != written {
			return &Difference{Row: n, TrajectoryID: t.TrajectoryID, Column: "payload_digest", Stored: written, Computed: t.PayloadDigest}, nil
		}
		n++
	}
	return nil, nil
}
