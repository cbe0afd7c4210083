package index

import (
	"cmp"
	"fmt"
	"slices"
)

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

// maxFacets is the number of named rewards that have a facet.
const maxFacets = 6

// bands are the values of a named reward that its facet tells apart.
var bands = []string{"none", "below 0", "0", "0 to 1", "1", "above 1"}

// bandOf returns the number of a value's band.
func bandOf(v float64) uint32 {
	switch {
	case v != v: // NaN
		return 0
	case v < 0:
		return 1
	case v == 0:
		return 2
	case v < 1:
		return 3
	case v == 1:
		return 4
	}
	return 5
}

// notThere is the code of a choice that no row has.
const notThere = 1<<32 - 1

func (x *Index) facets(q Query) []*facet {
	texts := func(name, chosen string, n *numbered[string]) *facet {
		return &facet{name: name, chosen: chosen, at: n.at, values: n.values}
	}
	out := []*facet{texts("status", q.Status, x.status), texts("stop", q.Stop, x.stop),
		texts("failure", q.Failure, x.failure), texts("decision", q.Decision, x.drop)}
	for _, c := range x.components[:min(len(x.components), maxFacets)] {
		out = append(out, &facet{name: ComponentColumn(c.name), chosen: q.Components[c.name], values: bands,
			at: func(row uint32) uint32 { return bandOf(c.values[row]) }})
	}
	for _, f := range out {
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

// choices are what the choices of a query leave in, with the counts.
type choices struct {
	set    set
	facets []Facet
}

// chosen returns what find returned for the same choices among the same rows or groups
// before.
func (x *Index) chosen(of string, q Query, where set, find func(Query, set) (set, []Facet)) (set, []Facet) {
	name := fmt.Sprintf("%s %q %q", of, []string{q.Where, q.Status, q.Failure, q.Stop, q.Decision}, q.Components)
	x.mu.Lock()
	c, known := x.choices.get(name)
	x.mu.Unlock()
	if !known {
		c.set, c.facets = find(q, where)
		x.mu.Lock()
		x.choices.put(name, c)
		x.mu.Unlock()
	}
	return c.set, c.facets
}

// rowFacets returns the rows that the choices leave in, of those in where (nil: all),
// and counts of them.
func (x *Index) rowFacets(q Query, where set) (set, []Facet) {
	return x.chosen(ofRows, q, where, x.findRows)
}

func (x *Index) findRows(q Query, where set) (set, []Facet) {
	facets := x.facets(q)
	chosen := newSet(x.Rows)
	for row := range x.Rows {
		if where != nil && !where.has(row) {
			continue
		}
		f, ok := only(facets, row)
		if !ok {
			continue
		}
		if f != nil {
			f.counts[f.at(row)]++
			continue
		}
		chosen.add(row)
		for _, f := range facets {
			f.counts[f.at(row)]++
		}
	}
	return chosen, listed(facets)
}

// groupFacets returns the groups with a member that the choices leave in, of those in
// where (nil: all), and counts of groups.
func (x *Index) groupFacets(q Query, where set) (set, []Facet) {
	return x.chosen("groups", q, where, x.findGroups)
}

func (x *Index) findGroups(q Query, where set) (set, []Facet) {
	facets := x.facets(q)
	chosen := newSet(uint32(len(x.table)))
	for g := range uint32(len(x.table)) {
		if where != nil && !where.has(g) {
			continue
		}
		for _, row := range x.membersOf(g) {
			f, ok := only(facets, row)
			if !ok {
				continue
			}
			if f != nil {
				f.once(g, row)
				continue
			}
			chosen.add(g)
			for _, f := range facets {
				f.once(g, row)
			}
		}
	}
	return chosen, listed(facets)
}

// once counts a group once for each value.
func (f *facet) once(group, row uint32) {
	code := f.at(row)
	if f.seen[code] != group+1 {
		f.seen[code] = group + 1
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
