package parquet

import (
	"cmp"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go/format"
)

// want is a range that a chunk of the reader needs.
type want struct {
	extent
	chunkID
	from, to int64 // of the chunk's bytes, for the order of need
}

// plan adds the pieces of further row groups. It returns false if there are
// none. Row groups are planned together as long as their small chunks, which
// may be held until the last of these row groups, fit into half the memory.
func (s *stream) plan() (more bool, err error) {
	r := s.r
	groups := r.f.meta.RowGroups
	var wanted []want
	var indexed []chunkID // chunks of which only some pages are needed
	var small int64
	from := s.planned
	for ; s.planned < len(groups) && s.first < r.end; s.planned++ {
		group := &groups[s.planned]
		if group.NumRows == 0 {
			continue
		}
		for _, l := range r.leaves {
			start, end := span(&group.Columns[l.node.leaf].MetaData)
			if end-start <= r.f.ahead/48 {
				small += end - start
			}
		}
		if small > r.f.ahead/2 && s.planned > from {
			break
		}
		whole := s.first >= r.next && s.first+group.NumRows <= r.end
		for i, l := range r.leaves {
			chunk := &group.Columns[l.node.leaf]
			start, end := span(&chunk.MetaData)
			id := chunkID{s.planned, i}
			if !whole && byPages(chunk) {
				indexed = append(indexed, id)
				continue
			}
			wanted = append(wanted, want{extent{off: start, end: end}, id, start, end})
		}
		s.first += group.NumRows
	}
	some, err := s.wantPages(indexed)
	if err != nil || len(wanted)+len(some) == 0 {
		return false, err
	}
	far := int64(farGap)
	if len(some) > 0 {
		far = pageGap
	}
	s.add(append(wanted, some...), r.walls(groups[from:s.planned]), far)
	slices.SortStableFunc(s.order, func(a, b *piece) int {
		return cmp.Or(cmp.Compare(a.need, b.need), cmp.Compare(a.off, b.off))
	})
	return true, nil
}

// byPages reports whether a few rows of a chunk are found by its page index: for
// a small one it is not worth a request.
func byPages(chunk *chunkMeta) bool {
	return chunk.OffsetIndexLength > 0 && chunk.MetaData.TotalCompressedSize > readAhead
}

// wantPages returns the pages that have the reader's rows of chunks. The page
// indexes of all chunks are one request, or none if they were read with the
// footer.
func (s *stream) wantPages(chunks []chunkID) ([]want, error) {
	if len(chunks) == 0 {
		return nil, nil
	}
	r := s.r
	var indexes []extent
	for _, id := range chunks {
		c := r.chunk(id)
		indexes = append(indexes, extent{off: c.OffsetIndexOffset, end: c.OffsetIndexOffset + int64(c.OffsetIndexLength)})
	}
	found, err := r.f.fetch(indexes)
	if err != nil {
		return nil, err
	}
	var out []want
	for _, id := range chunks {
		c := r.chunk(id)
		pages, err := pagesOf(found, c)
		if err != nil {
			return nil, err
		}
		s.pages[id] = pages
		from, to := r.rowsIn(id.group)
		start, end := span(&c.MetaData)
		at, until := pagesOfRows(pages, from, to)
		if at < 0 {
			out = append(out, want{extent{off: start, end: end}, id, start, end})
			continue
		}
		if c.MetaData.DictionaryPageOffset > 0 && pages[0].Offset > start {
			out = append(out, want{extent{off: start, end: min(end, pages[0].Offset)}, id, start, end})
		}
		first, last := max(start, pages[at].Offset), end
		if until < len(pages) {
			last = min(end, pages[until].Offset)
		}
		if first < last { // else the index is damaged, which seek reports
			out = append(out, want{extent{off: first, end: last}, id, first, last})
		}
	}
	return out, nil
}

// pagesOfRows returns which pages have some rows: the first, and the one after
// the last. The first is -1 if the index does not say it.
func pagesOfRows(pages []format.PageLocation, from, to int64) (first, end int) {
	first, end = -1, len(pages)
	for i := range pages {
		if pages[i].FirstRowIndex <= from && (i == 0 || pages[i].FirstRowIndex > pages[i-1].FirstRowIndex) {
			first = i
		}
		if i > 0 && pages[i].FirstRowIndex >= to && i < end {
			end = i
		}
	}
	return first, end
}

func (r *reader) chunk(id chunkID) *chunkMeta {
	return &r.f.meta.RowGroups[id.group].Columns[r.leaves[id.leaf].node.leaf]
}

// rowsIn returns the rows of a row group, relative to it, that the reader will
// read.
func (r *reader) rowsIn(group int) (from, to int64) {
	first := r.first
	for g := r.group; g < group; g++ {
		first += r.f.meta.RowGroups[g].NumRows
	}
	return max(0, r.next-first), min(r.end-first, r.f.meta.RowGroups[group].NumRows)
}

// add makes pieces of ranges: see join.
func (s *stream) add(wanted []want, walls []extent, far int64) {
	footer := s.r.f.fetchedFrom()
	wanted = slices.DeleteFunc(wanted, func(w want) bool { return w.off >= min(w.end, footer) })
	slices.SortFunc(wanted, func(a, b want) int { return byOffset(a.extent, b.extent) })
	ranges := make([]extent, len(wanted))
	for i, w := range wanted {
		ranges[i] = extent{off: w.off, end: min(w.end, footer)}
	}
	for _, e := range join(ranges, walls, math.MaxInt64, far) {
		for _, p := range s.r.f.cut(e, wanted) {
			if wanted = p.uses(wanted); len(p.ends) > 0 {
				s.pieces, s.order = append(s.pieces, p), append(s.order, p)
			}
		}
	}
}

// cut makes pieces of a range. A large one is cut where a chunk ends that fills
// much of a piece, so that no column holds what another one has passed; what is
// between is cut equally.
func (f *File) cut(e extent, wanted []want) (out []*piece) {
	each := f.pieceSize()
	ends := []int64{e.end}
	if e.end-e.off > wholePieces*each {
		ends = ends[:0]
		for _, w := range wanted {
			if w.end-w.off > each/3 && w.end < e.end-each/4 {
				ends = append(ends, w.end)
			}
		}
		ends = append(ends, e.end)
	} else {
		each *= wholePieces
	}
	for at := e.off; len(ends) > 0; at, ends = ends[0], ends[1:] {
		size := ends[0] - at
		n := (size + each - 1) / each
		for i := range n {
			out = append(out, &piece{extent: extent{off: at + size*i/n, end: at + size*(i+1)/n}, done: make(chan struct{})})
		}
	}
	return out
}

// uses sets when a piece is needed, and until when. It returns the rest of the
// wanted ranges.
func (p *piece) uses(wanted []want) []want {
	for len(wanted) > 0 && wanted[0].end <= p.off {
		wanted = wanted[1:]
	}
	for i := range wanted {
		w := &wanted[i]
		if w.off >= p.end {
			break
		}
		if w.end <= p.off {
			continue
		}
		if need := float64(w.group) + float64(max(0, p.off-w.from))/float64(w.to-w.from+1); len(p.ends) == 0 ||
			need < p.need {
			p.need = need
		}
		switch {
		case len(p.ends) == 0 || w.group > p.group:
			p.group, p.ends = w.group, append(p.ends[:0], use{w.leaf, min(w.end, p.end)})
		case w.group == p.group:
			p.ends = append(p.ends, use{w.leaf, min(w.end, p.end)})
		}
	}
	return wanted
}
