package reader

import (
	"cmp"
	"slices"

	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats/parquet/layout"
	"github.com/rollmill/rollmill/formats/parquet/page"
)

// want is a range that a chunk of the reader needs, or a chunk of which no byte
// is read: its leaf is -1.
type want struct {
	off, end int64
	chunkID
}

// plan adds the requests of further row groups. It returns false if there are
// none. Row groups are planned together until their small chunks, which may be
// held until the last of these row groups, are half of the memory.
func (s *stream) plan() (more bool, err error) {
	r := s.r
	groups := r.f.Meta.RowGroups
	if s.planned == len(groups) || s.first >= r.end {
		return false, nil
	}
	var unread []int // heavy leaves, too large to be fetched just to save a request
	for i, n := range r.f.Leaves {
		if layout.Heavy[layout.ColumnName(n.Path)] && !slices.ContainsFunc(r.leaves, func(l *layout.Leaf) bool { return l.Node.Leaf == i }) {
			unread = append(unread, i)
		}
	}
	var wanted []want
	var indexed []chunkID // chunks of which only some pages are needed
	for small := int64(0); s.planned < len(groups) && s.first < r.end && small < s.limit/2; s.planned++ {
		group := &groups[s.planned]
		whole := s.first >= r.next && s.first+group.NumRows <= r.end
		s.first += group.NumRows
		for i, l := range r.leaves {
			chunk := &group.Columns[l.Node.Leaf]
			id := chunkID{s.planned, i}
			// A few rows of a chunk are found by its page index, which is not worth a request for a small one.
			if !whole && chunk.OffsetIndexLength > 0 && chunk.MetaData.TotalCompressedSize > page.ReadAhead {
				indexed = append(indexed, id)
				continue
			}
			start, end := layout.Span(&chunk.MetaData)
			wanted = append(wanted, want{start, end, id})
			if end-start <= requestSize(r.f)/3 {
				small += end - start
			}
		}
		for _, i := range unread {
			start, end := layout.Span(&group.Columns[i].MetaData)
			wanted = append(wanted, want{start, end, chunkID{s.planned, -1}})
		}
	}
	some, err := s.wantPages(indexed)
	if err != nil || len(wanted)+len(some) == 0 {
		return false, err
	}
	gap := int64(layout.MaxGap)
	if len(some) > 0 {
		gap = layout.PageGap
	}
	s.add(append(wanted, some...), gap)
	return true, nil
}

// wantPages returns the pages that have the reader's rows of chunks. The page
// indexes of all chunks are one request, or none if they were read with the
// footer.
func (s *stream) wantPages(chunks []chunkID) ([]want, error) {
	if len(chunks) == 0 {
		return nil, nil
	}
	r := s.r
	var indexes []layout.Extent
	for _, id := range chunks {
		c := r.chunk(id)
		indexes = append(indexes, layout.Extent{Off: c.OffsetIndexOffset, End: c.OffsetIndexOffset + int64(c.OffsetIndexLength)})
	}
	found, err := r.f.Fetch(indexes)
	if err != nil {
		return nil, err
	}
	var out []want
	for _, id := range chunks {
		c := r.chunk(id)
		pages, err := layout.PagesOf(found, c)
		if err != nil {
			return nil, err
		}
		s.pages[id] = pages
		from, to := r.rowsIn(id.rowGroup)
		start, end := layout.Span(&c.MetaData)
		at, until := pagesOfRows(pages, from, to)
		if at < 0 {
			out = append(out, want{start, end, id})
			continue
		}
		if c.MetaData.DictionaryPageOffset > 0 && pages[0].Offset > start {
			out = append(out, want{start, min(end, pages[0].Offset), id})
		}
		first, last := max(start, pages[at].Offset), end
		if until < len(pages) {
			last = min(end, pages[until].Offset)
		}
		if first < last { // else the index is damaged, which seek reports
			out = append(out, want{first, last, id})
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

func (r *reader) chunk(id chunkID) *layout.ChunkMeta {
	return &r.f.Meta.RowGroups[id.rowGroup].Columns[r.leaves[id.leaf].Node.Leaf]
}

// rowsIn returns the rows of a row group, relative to it, that the reader will read.
func (r *reader) rowsIn(group int) (from, to int64) {
	first := r.first
	for g := r.rowGroup; g < group; g++ {
		first += r.f.Meta.RowGroups[g].NumRows
	}
	return max(0, r.next-first), min(r.end-first, r.f.Meta.RowGroups[group].NumRows)
}

// add makes requests of ranges, in order of need. Small gaps are read where the
// ranges are then one request, but never a heavy chunk that the reader does not need.
// Adjacent ranges that are much larger than a request are cut where chunks end, so
// that no column holds what another one has passed; large chunks are cut equally.
func (s *stream) add(wanted []want, gap int64) {
	inMemory := s.r.f.FetchedFrom()
	slices.SortFunc(wanted, func(a, b want) int { return cmp.Compare(a.off, b.off) })
	for len(wanted) > 0 {
		size, n, from, end := requestSize(s.r.f), 0, wanted[0].off, wanted[0].end
		for ; n < len(wanted) && wanted[n].leaf >= 0 && wanted[n].off < inMemory; n++ {
			if w := wanted[n]; w.off > end && (w.off > end+gap || w.end-from > maxWhole*size) {
				break
			}
			end = max(end, wanted[n].end)
		}
		if end = min(end, inMemory); end-from <= maxWhole*size {
			size = end - from
		}
		var q *request
		for _, w := range wanted[:n] {
			w.end = min(w.end, inMemory)
			if q != nil && w.end-q.Off <= size {
				q.End = max(q.End, w.end)
				s.use(q, w.chunkID, 0)
				continue
			}
			parts := (w.end - w.off + size - 1) / max(1, size)
			for i := range parts {
				q = &request{Extent: layout.Extent{Off: w.off + (w.end-w.off)*i/parts, End: w.off + (w.end-w.off)*(i+1)/parts},
					need: float64(w.rowGroup + 1)}
				s.waiting = append(s.waiting, q)
				s.use(q, w.chunkID, float64(i)/float64(parts))
			}
		}
		wanted = wanted[max(n, 1):]
	}
	slices.SortStableFunc(s.waiting, func(a, b *request) int { return cmp.Compare(a.need, b.need) })
}

// use notes that a chunk needs a request once a part of its bytes is read.
func (s *stream) use(q *request, id chunkID, part float64) {
	q.need = min(q.need, float64(id.rowGroup)+part)
	if of := s.chunks[id]; len(of) == 0 || of[len(of)-1] != q {
		s.chunks[id] = append(of, q)
		q.users++
	}
}
