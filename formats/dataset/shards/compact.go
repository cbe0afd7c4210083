package shards

import (
	"context"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/seal"
	"github.com/rollmill/rollmill/formats/dataset/storetime"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
)

// Compact writes the rows of the tables that are Small into parts of a size, and
// returns the dataset as it is then: the same rows in the same order, with the same
// identity and digest. Pages of the payload are copied and not decoded.
//
// One conditional write of the manifest makes the new parts those of the dataset.
// Whoever opened it before reads the old ones, which stay until Survey finds them
// and Clean removes them. If a process dies before that write, Survey finds the
// new ones. If the dataset was replaced or pruned meanwhile, the error is
// storage.ErrChanged; if another process compacted it meanwhile, that compaction
// is returned.
func Compact(ctx context.Context, d *dataset.Dataset, partSize int64) (*dataset.Dataset, error) {
	tables := Small(d, partSize)
	if len(tables) == 0 {
		return d, nil
	}
	if err := d.Bucket.Replaces(ctx); err != nil {
		return nil, fmt.Errorf("compact %q: %w", d.URI(), err)
	}
	at, err := nextCompaction(ctx, d)
	if err != nil {
		return nil, fmt.Errorf("compact %q: %w", d.URI(), err)
	}
	c := &manifest.Compacted{At: at.UTC(), PartSize: partSize}
	s := &Shard{bucket: d.Bucket, uri: d.Address, build: seal.Build{Identity: d.Identity, Of: d.Shards}, compacts: d.Generation(),
		partSize: partSize, partHeld: partLight, tables: map[string]*table{}}
	for _, name := range d.TableNames() {
		if !slices.Contains(tables, name) {
			if parts := d.Compacted.PartsOf(name); parts != nil {
				c.SetParts(name, parts)
			}
			continue
		}
		if err := s.merge(ctx, d, name); err != nil {
			return nil, errors.Join(fmt.Errorf("compact %q: %w", d.URI(), err), s.Discard())
		}
		c.SetParts(name, s.tables[name].parts)
	}
	return s.compacted(ctx, d, c)
}

// nextCompaction returns the time of the store, once that is later than the last
// compaction: a part that is no older than At was written by a later one. Stores
// have times of whole seconds, so it may wait for one.
func nextCompaction(ctx context.Context, d *dataset.Dataset) (time.Time, error) {
	for {
		at, err := storetime.Now(ctx, d.Bucket)
		if err != nil || d.Compacted == nil || at.After(d.Compacted.At) || d.Compacted.At.Sub(at) > storetime.Coarse(d.Bucket) {
			return at, err
		}
		select {
		case <-ctx.Done():
			return at, context.Cause(ctx)
		case <-time.After(storetime.Coarse(d.Bucket) / 4):
		}
	}
}

// merge writes the rows of a table again, and compares them with the manifest.
func (s *Shard) merge(ctx context.Context, d *dataset.Dataset, name string) error {
	if err := mergers[d.KindOf(name)](ctx, s, d, name); err != nil {
		return err
	}
	return d.SameRows(name, s.tables[name].digest)
}

// part returns the name of a part that is not there yet. That of a compaction has
// the generation of the manifest, so that whoever cleans up knows what it is.
func (s *Shard) part(table string, seq int, digest string) string {
	if s.compacts == "" {
		return s.build.Part(table, s.shard, seq, digest)
	}
	return path.Join(table, fmt.Sprintf("part-%s-%05d-%s.parquet", s.compacts, seq, digest[:8]))
}

// compacted makes the parts that were written those of the dataset.
func (s *Shard) compacted(ctx context.Context, d *dataset.Dataset, c *manifest.Compacted) (*dataset.Dataset, error) {
	for {
		now, err := seal.ReadCurrent(ctx, s.bucket)
		switch {
		case err != nil:
			return nil, err
		case now.Manifest == nil || now.Generation != s.compacts:
			return nil, errors.Join(fmt.Errorf("compact %q: the dataset was replaced or removed meanwhile: %w", d.URI(),
				storage.ErrChanged), s.Discard())
		case reflect.DeepEqual(now.Manifest.Compacted, c): // the response was lost
			return dataset.New(*now.Manifest, d.Address, s.bucket), nil
		case !reflect.DeepEqual(now.Manifest.Compacted, d.Compacted):
			return dataset.New(*now.Manifest, d.Address, s.bucket), s.Discard()
		}
		if err := s.there(ctx); err != nil {
			return nil, errors.Join(err, s.Discard())
		}
		m := *now.Manifest
		m.Format, m.Compacted = manifest.CompactedFormat, c
		err = s.bucket.Swap(ctx, manifest.FileName, now.Raw, m.Encode())
		if err == nil {
			return dataset.New(m, d.Address, s.bucket), nil
		}
		if !errors.Is(err, storage.ErrChanged) {
			return nil, err // the manifest may have been written
		} // else its gates were evaluated again, or one of the cases above
	}
}

// there reports as an error that one of the parts was removed: they look like
// leftovers to a prune whose grace is shorter than a part takes.
func (s *Shard) there(ctx context.Context) error {
	for _, t := range s.tables {
		for _, p := range t.parts {
			if _, err := s.bucket.Stat(ctx, p.Name); err != nil {
				return fmt.Errorf("compact %q: find the part %q that was just written: %w", s.bucket.URI(), p.Name, err)
			}
		}
	}
	return nil
}

// mergeRows writes the rows of a table again, row group by row group: each begins
// and ends with a group.
func mergeRows[T any](ctx context.Context, s *Shard, d *dataset.Dataset, table string) error {
	parts, first := d.PartsOf(table), int64(-1)
	if at := parts[0].BaseFirst; at != nil {
		first = *at
	}
	all, _ := d.TableOf(table)
	rd, err := dataset.NewReader[T](ctx, d, table, dataset.Range{First: 0, Rows: all.Rows})
	if err != nil {
		return err
	}
	defer rd.Close()
	w := NewTable[T](s, table, first)
	for _, p := range parts {
		for _, n := range p.RowGroups {
			rows, err := rd.Take(n)
			if err == nil {
				err = w.Write(ctx, rows)
			}
			if err != nil {
				return err
			}
		}
	}
	return w.finish(ctx)
}

// openAtOnce is from how many parts a row group may be copied: these stay open until it is written.
const openAtOnce = 64

// mergeWide is mergeRows for wide rows: their payload is copied, unless another
// version of the schema wrote it.
func mergeWide(ctx context.Context, s *Shard, d *dataset.Dataset, _ string) (err error) {
	payload := NewPayload(ctx, d)
	heads, err := dataset.NewHeadReader[formats.Trajectory](ctx, d, d.All())
	if err != nil {
		return err
	}
	w := NewTable[formats.Trajectory](s, "", -1)
	defer func() {
		w.abandon() // holds files of the payload, until it has finished
		err = errors.Join(err, heads.Close(), payload.Close())
	}()
	first := int64(0)
	for i, p := range d.PartsOf("") {
		for _, n := range p.RowGroups {
			if err := w.copyGroup(ctx, payload, heads, dataset.Range{First: first, Rows: n}); err != nil {
				return err
			}
			first += n
		}
		if i%openAtOnce == openAtOnce-1 {
			if err := w.EndRowGroup(); err != nil {
				return err
			}
		}
	}
	return w.finish(ctx)
}

// copyGroup writes a row group of a dataset again.
func (w *TableWriter[T]) copyGroup(ctx context.Context, p *Payload, heads *dataset.Reader[T], r dataset.Range) error {
	copyable, err := p.Copyable(r.First, r.Rows)
	if err != nil {
		return err
	}
	rows, err := heads.Take(r.Rows)
	if err != nil {
		return err
	}
	if !copyable {
		rows, err = dataset.ReadAll[T](ctx, p.d, "", r)
		if err != nil {
			return err
		}
		return w.Write(ctx, rows)
	}
	at := make([]int64, len(rows))
	for i := range at {
		at[i] = r.First + int64(i)
	}
	return w.Copy(ctx, p, at, rows)
}

// Small returns the tables that have adjacent parts of which two fit into one of
// a size. A table whose rows this version does not know is not among them.
func Small(d *dataset.Dataset, partSize int64) (tables []string) {
	if schema.Newer(d.Schema, schema.Version) {
		return nil
	}
	for _, table := range d.TableNames() {
		if mergers[d.KindOf(table)] != nil && mergeable(d, d.PartsOf(table), partSize) {
			tables = append(tables, table)
		}
	}
	return tables
}

// mergeable reports whether compaction makes fewer parts. The parts of one shard
// ended for reasons besides the size; these hold again.
func mergeable(d *dataset.Dataset, parts []manifest.Part, partSize int64) bool {
	grown := d.Compacted != nil && d.Compacted.PartSize < partSize
	fit := false
	for i := 1; i < len(parts); i++ {
		a, b := parts[i-1], parts[i]
		if (a.BaseFirst == nil) != (b.BaseFirst == nil) || a.BaseFirst != nil && *a.BaseFirst+a.Rows != *b.BaseFirst {
			return false // the rows of a part must be beside adjacent rows of the base
		}
		fit = fit || (a.Shard != b.Shard || grown) && a.Bytes+b.Bytes <= partSize
	}
	return fit
}

// mergers write the rows of a table again, by the kind of the main table or the name of
// a further one.
var mergers = map[schema.Kind]func(context.Context, *Shard, *dataset.Dataset, string) error{
	schema.KindTrajectories: mergeWide,
	schema.KindScores:       mergeRows[formats.Score],
	schema.KindGroups:       mergeRows[formats.Member],
	schema.TableGroups:      mergeRows[formats.GroupStats],
	schema.TablePairs:       mergeRows[formats.Pair],
	schema.TableLabels:      mergeRows[formats.Label],
	schema.TableDecisions:   mergeRows[decision.Decision],
	schema.TablePlan:        mergeRows[decision.Planned],
	schema.TableExamples:    mergeRows[decision.ExampleStats],
	schema.TableWorkspaces:  mergeRows[formats.WorkspacePiece],
}
