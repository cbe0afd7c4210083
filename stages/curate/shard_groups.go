package curate

import "github.com/rollmill/rollmill/formats/dataset"

// shardGroups are the groups of a set whose first row is in one shard's slice of its
// base: those that the shard writes.
type shardGroups struct {
	from, to int   // indexes, up to below
	first    int64 // row
	rows     int64 // members
}

func (gs *Groups) owned(s *set, slice dataset.Range) (shardGroups, error) {
	if slice == s.base.All() {
		return shardGroups{s.first, s.end, 0, s.base.Rows}, nil
	}
	out := shardGroups{from: s.end, to: s.end, first: slice.First}
	for g, err := range gs.every(s.first, s.end) {
		if err != nil {
			return shardGroups{}, err
		}
		switch {
		case g.FirstRow >= slice.First+slice.Rows:
			out.to = min(out.to, g.Index)
		case g.FirstRow >= slice.First:
			if g.Index < out.from {
				out.from, out.first = g.Index, g.FirstRow
			}
			out.rows += int64(g.Count)
		}
	}
	out.from = min(out.from, out.to)
	return out, nil
}
