package query

import (
	"cmp"
	"slices"
	"strings"
)

// Facet counts the trajectories, or the groups with one, by a column. Its own choice
// does not limit its counts.
type Facet struct {
	Name   string // status, failure, stop, drop (what curate decided), or the column of a named reward
	Chosen string
	Values []FacetValue // those that appear, the most frequent first
}

// FacetValue is a value of a column and how many have it.
type FacetValue struct {
	Value string
	Count int
}

// facet counts one column.
type facet struct {
	name   string
	chosen string
	at     func(row uint32) uint32 // the code of its value
	values []string                // by code
	code   uint32                  // of the choice
	counts []int                   // by code
	seen   []uint32
}

// facetNames are those that every dataset has; others are the columns of named rewards.
var facetNames = []string{"status", "stop", "failure", "drop"}

// IsFacet reports whether a name may be that of a facet.
func IsFacet(name string) bool {
	return slices.Contains(facetNames, name) || strings.HasPrefix(name, componentPrefix)
}

// maxFacets is the number of named rewards that have a facet.
const maxFacets = 6

// bands are the values of a named reward that its facet tells apart.
var bands = []string{"none", "below 0", "0", "0 to 1", "1", "above 1"}

// bandOf returns the number of a value's band.
func bandOf(v float64) (band uint32) {
	for i, is := range [...]bool{v == v, v >= 0, v > 0, v >= 1, v > 1} { // none of NaN
		if is {
			band = uint32(i) + 1
		}
	}
	return band
}

// notThere is the code of a choice that no row has.
const notThere = 1<<32 - 1

func (x *Index) facets(q Query) []*facet {
	var out []*facet
	for i, n := range []*words{&x.status, &x.stop, &x.failure, &x.drop} {
		out = append(out, &facet{name: facetNames[i], at: n.at, values: n.values})
	}
	for _, c := range x.components[:min(len(x.components), maxFacets)] {
		at := func(row uint32) uint32 { return bandOf(c.values[row]) }
		out = append(out, &facet{name: ComponentColumn(c.name), at: at, values: bands})
	}
	for _, f := range out {
		f.chosen = q.Choices[f.name]
		f.counts, f.seen, f.code = make([]int, len(f.values)), make([]uint32, len(f.values)), notThere
		if i := slices.Index(f.values, f.chosen); i >= 0 {
			f.code = uint32(i)
		}
	}
	return out
}

// refuses reports whether the choice leaves a row out.
func (f *facet) refuses(row uint32) bool { return f.chosen != "" && f.at(row) != f.code }

// only returns the facet that leaves a row out, nil for none; ok is false if several do.
func only(facets []*facet, row uint32) (f *facet, ok bool) {
	for _, g := range facets {
		if !g.refuses(row) {
			continue
		}
		if f != nil {
			return nil, false
		}
		f = g
	}
	return f, true
}

// choose returns the items that the choices leave in, of those in where (nil: all), and
// counts of them. A group is left in with a member.
func (x *Index) choose(q Query, of List, where set) (set, []Facet) {
	facets := x.facets(q)
	chosen := newSet(of.n)
	for i := range of.n {
		if !where.has(i) {
			continue
		}
		for _, row := range of.members(i) {
			f, ok := only(facets, row)
			if !ok {
				continue
			}
			if f != nil {
				f.once(i, row)
				continue
			}
			chosen.add(i)
			for _, f := range facets {
				f.once(i, row)
			}
		}
	}
	return chosen, listed(facets)
}

// once counts an item once for each value.
func (f *facet) once(item, row uint32) {
	code := f.at(row)
	if f.seen[code] != item+1 {
		f.seen[code] = item + 1
		f.counts[code]++
	}
}

// listed returns the values that appear, the most frequent first. Null is no value.
func listed(facets []*facet) []Facet {
	out := make([]Facet, len(facets))
	for i, f := range facets {
		out[i] = Facet{Name: f.name, Chosen: f.chosen}
		for code, n := range f.counts {
			if v := f.values[code]; v != "" && (n > 0 || v == f.chosen) {
				out[i].Values = append(out[i].Values, FacetValue{v, n})
			}
		}
		slices.SortFunc(out[i].Values, func(a, b FacetValue) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value))
		})
	}
	return out
}
