package index

import (
	"cmp"
	"slices"
)

// facet counts one column.
type facet struct {
	name   string
	chosen string
	column *numbered[string]
	code   uint32 // of the choice
	counts []int  // by code
	seen   []uint32
}

// notThere is the code of a choice that no row has.
const notThere = 1<<32 - 1

func (x *Index) facets(q Query) []*facet {
	out := []*facet{
		{name: "status", chosen: q.Status, column: x.status},
		{name: "stop", chosen: q.Stop, column: x.stop},
		{name: "failure", chosen: q.Failure, column: x.failure},
		{name: "decision", chosen: q.Decision, column: x.drop},
	}
	for _, f := range out {
		f.counts, f.seen, f.code = make([]int, len(f.column.values)), make([]uint32, len(f.column.values)), notThere
		if i := slices.Index(f.column.values, f.chosen); i >= 0 {
			f.code = uint32(i)
		}
	}
	return out
}

// refuses reports whether the choice leaves a row out.
func (f *facet) refuses(row uint32) bool { return f.chosen != "" && f.column.at(row) != f.code }

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

// rowFacets returns the rows that the choices leave in, of those in where (nil: all),
// and counts of them.
func (x *Index) rowFacets(q Query, where set) (set, []Facet) {
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
			f.counts[f.column.at(row)]++
			continue
		}
		chosen.add(row)
		for _, f := range facets {
			f.counts[f.column.at(row)]++
		}
	}
	return chosen, listed(facets)
}

// groupFacets returns the groups with a member that the choices leave in, of those in
// where (nil: all), and counts of groups.
func (x *Index) groupFacets(q Query, where set) (set, []Facet) {
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
	code := f.column.at(row)
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
			if v := f.column.values[code]; v != "" && (n > 0 || v == f.chosen) {
				out[i].Values = append(out[i].Values, FacetValue{v, n})
			}
		}
		slices.SortFunc(out[i].Values, func(a, b FacetValue) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value))
		})
	}
	return out
}
