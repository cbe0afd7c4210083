package query

import (
	"math"
	"slices"
	"testing"
)

// TestComponentFacets counts the bands of a named reward, and chooses one.
func TestComponentFacets(t *testing.T) {
	x := synthetic(8000)
	counts := func(q Query, component string) map[string]int {
		p, err := x.Trajectories().Page(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(p.Facets, func(f Facet) bool { return f.Name == ComponentColumn(component) })
		out := map[string]int{"total": p.Total}
		for _, v := range p.Facets[at].Values {
			out[v.Value] = v.Count
		}
		return out
	}
	all := counts(Query{}, "exact")
	if all["0"] != 8 || all["0 to 1"] != 7992 || all["total"] != 8000 { // i*7919%1000 is 0 for each thousandth
		t.Errorf("%v", all)
	}
	chosen := Query{Choices: map[string]string{"rewards.exact": "0"}}
	if got := counts(chosen, "exact"); got["total"] != 8 || got["0"] != 8 || got["0 to 1"] != 7992 {
		t.Errorf("%v", got)
	}
	if got := counts(chosen, "style"); got["0"]+got["0 to 1"] != 8 {
		t.Errorf("%v", got)
	}
	chosen.Choices["status"] = "failed"
	if got := counts(chosen, "exact"); got["total"] != 8 { // each thousandth row fails
		t.Errorf("%v", got)
	}
	if got := counts(Query{Choices: map[string]string{"rewards.exact": "2"}}, "exact"); got["total"] != 0 {
		t.Errorf("%v", got)
	}
	groups, err := x.GroupList().Page(t.Context(), Query{Choices: map[string]string{"rewards.exact": "0"}})
	if err != nil || groups.Total != 8 {
		t.Errorf("%v, %v", groups, err)
	}
	if got := []uint32{bandOf(-1), bandOf(0), bandOf(0.5), bandOf(1), bandOf(2), bandOf(math.NaN())}; !slices.Equal(got, []uint32{1, 2, 3, 4, 5, 0}) {
		t.Errorf("%v", got)
	}
}
