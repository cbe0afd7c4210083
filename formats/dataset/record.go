package dataset

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/storage"
)

// record is what a shard contributes to the manifest.
type record struct {
	Manifest     // of this shard's rows only
	Shard    int `json:"shard"`
}

// record returns the record of a shard whose tables are finished.
func (s *Shard) record(o Outcome) record {
	r := record{Shard: s.shard, Manifest: Manifest{Format: Format, Timings: o.Timings, Run: s.spec.Run, Content: Content{
		Kind: s.spec.Kind, Schema: formats.SchemaVersion, Stage: s.spec.Stage, Version: s.spec.Version,
		Identity: s.run.identity, Shards: s.run.of, Base: s.spec.Base, Columns: s.spec.Columns, Inputs: s.spec.Inputs, Params: s.spec.Params,
		Files: s.spec.Files, Counts: o.Counts, Drops: o.Drops, Failures: o.Failures, Facts: o.Facts,
		State: s.secrets.Settings().JSON(o.State),
	}}}
	for _, g := range s.spec.Gates {
		r.Gates = append(r.Gates, GateResult{Gate: g})
	}
	for _, name := range slices.Sorted(maps.Keys(s.tables)) {
		t := s.tables[name]
		for _, p := range t.parts {
			r.Bytes += p.Bytes
		}
		if name == "" {
			r.Rows, r.RowsDigest, r.Parts = t.rows, t.digest, t.parts
			continue
		}
		if r.Tables == nil {
			r.Tables = map[string]Table{}
		}
		r.Tables[name] = Table{t.rows, t.digest, t.parts}
	}
	return r
}

// merge returns the manifest made from all shards' records, in shard order. It
// depends on nothing else: every process that merges the same records gets the
// same bytes.
func merge(all []record) Manifest {
	m := all[0].Manifest
	for _, r := range all[1:] {
		m.Rows += r.Rows
		m.Bytes += r.Bytes
		m.RowsDigest.Merge(r.RowsDigest)
		m.Parts = append(slices.Clip(m.Parts), r.Parts...)
		m.Counts = sum(m.Counts, r.Counts)
		m.Drops = sum(m.Drops, r.Drops)
		m.Failures = sum(m.Failures, r.Failures)
		m.Facts = sum(m.Facts, r.Facts)
		m.Timings = sum(m.Timings, r.Timings)
		m.Tables = maps.Clone(m.Tables)
		for name, t := range r.Tables {
			own := m.Tables[name]
			own.Rows += t.Rows
			own.RowsDigest.Merge(t.RowsDigest)
			own.Parts = append(slices.Clip(own.Parts), t.Parts...)
			if m.Tables == nil {
				m.Tables = map[string]Table{}
			}
			m.Tables[name] = own
		}
	}
	gates := make([]Gate, 0, len(m.Gates))
	for _, g := range m.Gates {
		gates = append(gates, g.Gate)
	}
	m.Gates = judge(&m, gates)
	m.raw = indented(m.Content)
	return m
}

func sum[V int64 | float64](a, b map[string]V) map[string]V {
	if len(b) == 0 {
		return a
	}
	out := maps.Clone(a)
	if out == nil {
		out = map[string]V{}
	}
	for k, v := range b {
		out[k] += v
		if f := float64(out[k]); math.IsInf(f, 0) { // of shards, none of which is; JSON has no infinity
			out[k] = V(math.Copysign(math.MaxFloat64, f))
		}
	}
	return out
}

func readRecord(ctx context.Context, b *storage.Bucket, r run, shard int) (record, error) {
	key := r.record(shard)
	data, err := readFile(ctx, b, key)
	if err != nil {
		return record{}, err
	}
	place := storage.Join(b.URI(), key)
	rec, err := decodeRecord(place, data)
	if err != nil {
		return record{}, err
	}
	if rec.Identity != r.identity || rec.Shards != r.of || rec.Shard != shard {
		return record{}, formats.Invalid(place, "", nil, "the record is of shard %d of %d, identity %q", rec.Shard,
			rec.Shards, rec.Identity)
	}
	return rec, nil
}

func readAllRecords(ctx context.Context, b *storage.Bucket, r run) ([]record, error) {
	all := make([]record, 0, r.of)
	for rec, err := range storage.InOrder(ctx, r.of, storage.AtOnce, func(ctx context.Context, i int) (record, error) {
		return readRecord(ctx, b, r, i)
	}) {
		if err != nil {
			return nil, err
		}
		if formats.Newer(rec.Schema, formats.SchemaVersion) { // its other fields would be lost in the manifest
			return nil, formats.Invalid(storage.Join(b.URI(), r.record(rec.Shard)),
				"run `rollmill seal` with the version that wrote it", nil,
				"the record has schema %s; this rollmill makes manifests of schema %s", rec.Schema, formats.SchemaVersion)
		}
		all = append(all, rec)
	}
	return all, nil
}

func sortedRuns(found map[run]map[int]bool) []run {
	return slices.SortedFunc(maps.Keys(found), func(a, b run) int {
		return cmp.Or(cmp.Compare(a.identity, b.identity), cmp.Compare(a.of, b.of))
	})
}
