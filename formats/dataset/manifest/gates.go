package manifest

import (
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/storage/fault"
)

// GateError reports that gates refused a dataset. Its rows are kept.
type GateError struct {
	URI   string
	Gates []GateResult // those that refused
}

func (e *GateError) Error() string {
	g := e.Gates[0]
	bound, limit := "above", g.Max
	if limit == nil || g.Value <= *limit {
		bound, limit = "below", g.Min
	}
	return fmt.Sprintf("%q: gate %s refused the dataset: %s is %.4g, %s %.4g", e.URI, g.Name, g.Count, g.Value, bound, *limit)
}

// Fault says how to look at the rows, and how to read them all the same.
func (e *GateError) Fault() (fault.Kind, string) {
	g := e.Gates[0]
	hint := fmt.Sprintf("the rows are kept; look at them with `rollmill show`, change --%s, or read the dataset with "+
		"--accept-gate %s", g.Name, g.Name)
	switch g.Count {
	case "desirable", "undesirable":
		hint = "KTO needs good and bad answers: choose another --solved-threshold, or read the dataset with --accept-gate " + g.Name
	case "failed":
		hint += ". After fixing the cause, rollout --retry-failed repeats the failed attempts (train: --set " +
			"rollout.retry-failed=true); if that changed the agent or a setting, rollout --overwrite makes all of them again"
	case "unscored":
		hint += ". After fixing the cause, delete the scores and run score again"
	}
	return fault.Gate, hint
}

// Judge evaluates each gate on the whole dataset. A share of zero rows is 0.
func Judge(m *Manifest, gates []Gate) []GateResult {
	var out []GateResult
	for _, g := range gates {
		v := m.number(g.Count)
		if g.Of != "" {
			if of := m.number(g.Of); of != 0 {
				v /= of
			} else {
				v = 0
			}
		}
		refused := g.Max != nil && v > *g.Max || g.Min != nil && v < *g.Min
		out = append(out, GateResult{g, v, refused})
	}
	return out
}

// number returns the number that a gate checks: "rows", or a key of counts,
// drops, failures or facts, in this order. A number that no shard counted is 0.
func (m *Manifest) number(key string) float64 {
	if key == "rows" {
		return float64(m.Rows)
	}
	for _, list := range []map[string]int64{m.Counts, m.Drops, m.Failures} {
		if v, ok := list[key]; ok {
			return float64(v)
		}
	}
	return m.Facts[key]
}

// JudgedBy reports whether the results are those of these gates.
func (m *Manifest) JudgedBy(gates []Gate) bool {
	same := func(x, y *float64) bool { return x == nil && y == nil || x != nil && y != nil && *x == *y }
	return slices.EqualFunc(m.Gates, gates, func(a GateResult, b Gate) bool {
		return a.Name == b.Name && a.Count == b.Count && a.Of == b.Of && same(a.Max, b.Max) && same(a.Min, b.Min)
	})
}
