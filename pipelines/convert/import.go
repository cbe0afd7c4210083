package convert

import (
	"cmp"
	"context"
	"errors"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/stages"
)

// Import imports the files into one wide dataset. A record that cannot be
// converted, or has a part that no row can hold, ends the import with an error
// that names its file and line, unless Lossy drops and counts it.
func Import(ctx context.Context, o ImportOptions) (ImportReport, error) {
	started := o.Clock()
	if err := o.Validate(); err != nil {
		return ImportReport{}, err
	}
	if o.New {
		r, err := o.importNew(ctx)
		r.Seconds = o.Clock().Sub(started).Seconds()
		return r, err
	}
	spec, err := o.spec(ctx)
	if err != nil {
		return ImportReport{}, err
	}
	source, outcome, shard, err := o.attempt(ctx, spec, o.Merge == MergeCalls)
	if errors.Is(err, errScattered) {
		o.Logger().Info("import: " + errScattered.Error() + " in the source; it is read again and sorted")
		source, outcome, shard, err = o.attempt(ctx, spec, true)
	}
	r := ImportReport{Source: source}
	if err != nil {
		return r, err
	}
	outcome.Timings = map[string]float64{"import_seconds": o.Clock().Sub(started).Seconds()}
	result, err := shard.Commit(ctx, outcome)
	if result.URI != "" {
		r.Report = report(result, outcome)
		if result.UpToDate && result.Sealed != nil {
			facts := result.Sealed.Facts
			r.Records, r.RefusedRecords = int64(facts[factRecords]), int64(facts[factRefused])
		}
		r.Seconds = o.Clock().Sub(started).Seconds()
	}
	return r, err
}

// attempt writes the shard's rows, but does not commit them. Unless sort is set
// the error is errScattered when the groups of the source are not adjacent. On
// an error what was written is removed.
func (o *ImportOptions) attempt(ctx context.Context, spec manifest.Spec, sort bool) (Source, shards.Outcome, *shards.Shard, error) {
	s := o.Out.Shard.Of()
	shard, err := shards.Begin(ctx, o.Out.URI, spec,
		shards.Options{Shard: s.Index, Of: s.Count, Overwrite: o.Out.Overwrite})
	if err != nil || shard.UpToDate() {
		return Source{}, shards.Outcome{}, shard, err
	}
	w, c := newWriter(o, shard), newCheck(o)
	defer c.close()
	g := gatherer(newAdjacent(o, w.group))
	if sort {
		g = newSorted(o, w.group)
	}
	defer g.close()
	err = c.read(ctx, g.add)
	source, err := w.end(ctx, g, c, err)
	return source, w.outcome, shard, err
}

// end writes what was gathered, and reports what was read, unless that failed. On an error it removes what was written.
func (w *writer) end(ctx context.Context, g gatherer, c *check, err error) (source Source, _ error) {
	if err == nil {
		err = g.end(ctx)
	}
	if err == nil {
		err = w.flush(ctx)
	}
	c.count(w.outcome.Facts)
	if !errors.Is(err, errScattered) {
		var bad error
		source, bad = c.report()
		err = cmp.Or(err, bad)
		w.outcome.Facts[formats.FactPrefixRows] = float64(source.Checks.RowsOf("prefix_rows"))
	}
	if err != nil {
		err = errors.Join(err, w.shard.Discard())
	}
	return source, err
}

// CheckImport reads the files as Run does, and writes nothing. What Run would refuse
// is in the report.
func CheckImport(ctx context.Context, o ImportOptions) (Source, error) {
	o.Out = stages.Output{}
	if err := o.Validate(); err != nil {
		return Source{}, err
	}
	c := newCheck(&o)
	defer c.close()
	c.checks = true
	err := c.read(ctx, func(context.Context, *row) error { return nil })
	source, bad := c.report()
	return source, cmp.Or(err, bad)
}
