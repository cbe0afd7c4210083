package query

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Facet counts the trajectories, or the groups with one, by a column. Its own choice
// does not limit its counts.
type Facet struct {
	Name   string // status, failure, stop, drop (what curate decided), or the column of a named reward
	Chosen string
	Values []FacetValue // those that appear: see listed
}

// FacetValue is a value of a column and how many have it.
type FacetValue struct {
	Value string
	Count int
}

// facet counts one column.
type facet struct {
	Facet
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

const (
	maxValues = 6       // of a named reward that its facet counts one by one
	maxSample = 100_000 // values, about, of which the quarters of a reward with more values are taken
)

// divide makes the bands of a named reward: its values, or else its quarters.
func (c *component) divide() {
	var few, all []float64
	for i, v := range c.values {
		if math.IsNaN(v) {
			continue
		}
		if len(few) <= maxValues && !slices.Contains(few, v) {
			few = append(few, v)
		}
		if i%(len(c.values)/maxSample+1) == 0 {
			all = append(all, v)
		}
	}
	slices.Sort(few)
	c.cuts = few
	between := len(few) > maxValues
	if slices.Sort(all); between {
		c.cuts = slices.Compact([]float64{math.Inf(-1), all[len(all)/4], all[len(all)/2], all[len(all)*3/4]})
	}
	for digits := 4; c.bands == nil; digits++ { // until each has its own name
		var names []string
		for _, v := range c.cuts {
			names = append(names, strconv.FormatFloat(v, 'g', digits, 64))
		}
		if len(slices.Compact(slices.Clone(names))) == len(names) {
			c.bands = bandNames(names, between)
		}
	}
}

// bandNames names the band of null and those that begin with cuts; each ends before the next.
func bandNames(cuts []string, between bool) []string {
	out := []string{"none"}
	for i, name := range cuts {
		switch {
		case !between:
		case i+1 == len(cuts):
			name += " and more"
		case i == 0:
			name = "below " + cuts[1]
		default:
			name += " to " + cuts[i+1]
		}
		out = append(out, name)
	}
	return out
}

// bandOf returns the number of a value's band.
func (c *component) bandOf(v float64) uint32 {
	at, begins := slices.BinarySearch(c.cuts, v) // NaN is before all
	if begins {
		at++
	}
	return uint32(at)
}

// notThere is the code of a choice that no row has.
const notThere = 1<<32 - 1

func (x *Index) facets(q Query) []*facet {
	var out []*facet
	for i, n := range []*words{&x.status, &x.stop, &x.failure, &x.drop} {
		out = append(out, &facet{Facet: Facet{Name: facetNames[i]}, at: n.at, values: n.values})
	}
	for _, c := range x.components[:min(len(x.components), maxFacets)] {
		at := func(row uint32) uint32 { return c.bandOf(c.values[row]) }
		out = append(out, &facet{Facet: Facet{Name: ComponentColumn(c.name)}, at: at, values: c.bands})
	}
	for _, f := range out {
		f.Chosen = q.Choices[f.Name]
		f.counts, f.seen, f.code = make([]int, len(f.values)), make([]uint32, len(f.values)), notThere
		if i := slices.Index(f.values, f.Chosen); i >= 0 {
			f.code = uint32(i)
		}
	}
	return out
}

// refuses reports whether the choice leaves a row out.
func (f *facet) refuses(row uint32) bool { return f.Chosen != "" && f.at(row) != f.code }

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
	return chosen, listed(facets, chosen.count())
}

// once counts an item once for each value.
func (f *facet) once(item, row uint32) {
	code := f.at(row)
	if f.seen[code] != item+1 {
		f.seen[code] = item + 1
		f.counts[code]++
	}
}

// listed returns the values that appear: numbers in their order, others the most frequent first. Null is no value, and one that
// all have divides nothing.
func listed(facets []*facet, all int) []Facet {
	out := make([]Facet, len(facets))
	for i, f := range facets {
		out[i] = f.Facet
		for code, n := range f.counts {
			if v := f.values[code]; v != "" && (n > 0 || v == f.Chosen) {
				out[i].Values = append(out[i].Values, FacetValue{v, n})
			}
		}
		if v := out[i].Values; len(v) == 1 && v[0].Count == all && f.Chosen == "" {
			out[i].Values = nil
		}
		if strings.HasPrefix(f.Name, componentPrefix) {
			continue // in the order of the numbers
		}
		slices.SortFunc(out[i].Values, func(a, b FacetValue) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value))
		})
	}
	return out
}
