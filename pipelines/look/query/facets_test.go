package query

import (
	"math"
	"slices"
	"testing"
)

// facetCounts returns the counts of a facet by value, and the total of the page.
func facetCounts(t *testing.T, x *Index, q Query, name string) map[string]int {
	t.Helper()
	p, err := x.Trajectories().Page(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(p.Facets, func(f Facet) bool { return f.Name == name })
	out := map[string]int{"total": p.Total}
	for _, v := range p.Facets[at].Values {
		out[v.Value] = v.Count
	}
	return out
}

// TestComponentFacets counts the quarters of a named reward with many values, and chooses one.
func TestComponentFacets(t *testing.T) {
	x := synthetic(8000)
	all := facetCounts(t, x, Query{}, "rewards.exact") // i*7919%1000 is each number 8 times
	for name, n := range map[string]int{"below 0.25": 2000, "0.25 to 0.5": 2000, "0.5 to 0.75": 2000, "0.75 and more": 2000, "total": 8000} {
		if all[name] != n {
			t.Errorf("%s: %d of %v", name, all[name], all)
		}
	}
	chosen := Query{Choices: map[string]string{"rewards.exact": "below 0.25"}}
	if got := facetCounts(t, x, chosen, "rewards.exact"); got["total"] != 2000 || got["below 0.25"] != 2000 || got["0.25 to 0.5"] != 2000 {
		t.Errorf("%v", got)
	}
	style := 0
	for name, n := range facetCounts(t, x, chosen, "rewards.style") {
		if style += n; name == "total" {
			style -= n
		}
	}
	if style != 2000 {
		t.Errorf("%d rows of the chosen 2000 have a band of the other reward", style)
	}
	chosen.Choices["status"] = "failed"
	if got := facetCounts(t, x, chosen, "rewards.exact"); got["total"] != 40 { // each fiftieth row fails
		t.Errorf("%v", got)
	}
	if got := facetCounts(t, x, Query{Choices: map[string]string{"rewards.exact": "2"}}, "rewards.exact"); got["total"] != 0 {
		t.Errorf("%v", got)
	}
	groups, err := x.GroupList().Page(t.Context(), Query{Choices: map[string]string{"rewards.exact": "below 0.25"}})
	if err != nil || groups.Total == 0 || groups.Total > 1000 {
		t.Errorf("%v, %v", groups, err)
	}
}

// TestBands checks that a named reward's bands divide its values, and that each has a name of its own.
func TestBands(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		values, of []float64
		bands      []string
		at         []uint32
	}{
		{[]float64{0.1, 0, 0.1, nan}, []float64{0, 0.1, nan}, []string{"none", "0", "0.1"}, []uint32{1, 2, 0}},
		{[]float64{0, 0.1, 0.2, 0.3, 0.4, 0.5}, []float64{0.5}, []string{"none", "0", "0.1", "0.2", "0.3", "0.4", "0.5"}, []uint32{6}},
		{[]float64{nan}, []float64{nan}, []string{"none"}, []uint32{0}},
		{[]float64{1, 1.00001}, nil, []string{"none", "1", "1.00001"}, nil},
		{[]float64{1, 2, 3, 4, 5, 6, 7, 8}, []float64{1, 3, 4.9, 8, nan}, []string{"none", "below 3", "3 to 5", "5 to 7", "7 and more"}, []uint32{1, 2, 2, 4, 0}},
		{[]float64{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6}, []float64{0, 6}, []string{"none", "below 0", "0 to 3", "3 and more"}, []uint32{2, 3}},
		{[]float64{5e9, 5e9 + 1, 5e9 + 2, 5e9 + 3, 5e9 + 4, 5e9 + 5, 5e9 + 6, 5e9 + 7}, nil,
			[]string{"none", "below 5000000002", "5000000002 to 5000000004", "5000000004 to 5000000006", "5000000006 and more"}, nil},
	} {
		x := component{values: c.values}
		x.divide()
		if !slices.Equal(x.bands, c.bands) {
			t.Errorf("%v: %q, want %q", c.values, x.bands, c.bands)
		}
		for i, v := range c.of {
			if got := x.bandOf(v); got != c.at[i] {
				t.Errorf("%v: %g is in band %d, want %d", c.values, v, got, c.at[i])
			}
		}
	}
}

// TestFacetsDivide checks that what all rows share is offered only as a choice that can be taken back.
func TestFacetsDivide(t *testing.T) {
	x := synthetic(40) // of which the first alone fails
	if got := facetCounts(t, x, Query{Choices: map[string]string{"failure": "timeout"}}, "status"); len(got) != 1 || got["total"] != 1 {
		t.Errorf("one status is offered: %v", got)
	}
	if got := facetCounts(t, x, Query{Choices: map[string]string{"status": "failed"}}, "status"); got["failed"] != 1 || got["ok"] != 39 {
		t.Errorf("%v", got)
	}
	if got := facetCounts(t, x, Query{}, "failure"); got["timeout"] != 1 {
		t.Errorf("what some rows have alone is not offered: %v", got)
	}
}
