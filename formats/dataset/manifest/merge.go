package manifest

import (
	"maps"
	"math"
	"slices"
)

// Record is what a shard contributes to the manifest.
type Record struct {
	Manifest     // of this shard's rows only
	Shard    int `json:"shard"`
}

// Merge returns the manifest made from all shards' records, in shard order. It
// depends on nothing else: every process that merges the same records gets the
// same bytes.
func Merge(all []Record) Manifest {
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
		if r.Written.After(m.Written) {
			m.Written = r.Written
		}
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
	m.Gates = Judge(&m, gates)
	m.Fix()
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
