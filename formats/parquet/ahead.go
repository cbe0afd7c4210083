package parquet

import (
	"io"
	"slices"

	"golang.org/x/sync/errgroup"
)

const (
	nearGap  = 64 << 10 // bytes that are read rather than a request made
	farGap   = 16 << 20 // the same, while there are more than fewReads ranges
	fewReads = 2
	atOnce   = 8 // requests under way
)

// FetchAhead has readers of the file fetch the chunks they need in a few
// large requests, as suits an object store, holding at most limit bytes.
// Call it before NewReader.
func (f *File) FetchAhead(limit int64) { f.ahead = limit }

// extent is a range of a file, and what was fetched of it.
type extent struct {
	off, end int64
	data     []byte
}

// fetched is a source of which some ranges are in memory.
type fetched struct {
	io.ReaderAt
	extents []extent
}

func (s *fetched) ReadAt(p []byte, off int64) (int, error) {
	for _, e := range s.extents {
		if off >= e.off && off+int64(len(p)) <= e.end {
			return copy(p, e.data[off-e.off:]), nil
		}
	}
	return s.ReaderAt.ReadAt(p, off)
}

// source is what the next row group is read from. When it is time to, it
// fetches the chunks of as many row groups as the limit allows.
func (r *Reader[T]) source() (io.ReaderAt, error) {
	if r.f.ahead == 0 {
		return r.f.src, nil
	}
	if r.group < r.fetchedTo {
		return r.fetched, nil
	}
	r.fetched = nil // before the next is made
	wanted, to := r.plan()
	if len(wanted) == 0 {
		return r.f.src, nil
	}
	f, err := r.f.fetch(wanted)
	if err != nil {
		return nil, err
	}
	r.fetched, r.fetchedTo = f, to
	return r.fetched, nil
}

// fetch reads ranges into memory, several requests at once.
func (f *File) fetch(wanted []extent) (*fetched, error) {
	wanted = join(wanted, f.ahead)
	var all errgroup.Group
	all.SetLimit(atOnce)
	for i := range wanted {
		all.Go(func() error {
			e := &wanted[i]
			e.data = make([]byte, e.end-e.off)
			return readAt(f.src, e.data, e.off)
		})
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	return &fetched{f.src, wanted}, nil
}

// plan lists the chunks of the row groups from the current one on that lie
// in the range and together under the limit.
func (r *Reader[T]) plan() (wanted []extent, to int) {
	groups := r.f.meta.RowGroups
	var total int64
	first := r.first
	for to = r.group; to < len(groups) && first < r.end; to++ {
		var some []extent
		whole := first >= r.next && first+groups[to].NumRows <= r.end
		for _, l := range r.leaves {
			start, end := span(&groups[to].Columns[l.node.leaf].MetaData)
			if !whole && end-start > readAhead {
				continue // for some of its rows, only some of its pages
			}
			some = append(some, extent{off: start, end: end})
			total += end - start
		}
		if total > r.f.ahead {
			break
		}
		wanted = append(wanted, some...)
		first += groups[to].NumRows
	}
	return wanted, to
}

// join merges ranges with small gaps, and with larger ones until few are left.
func join(ranges []extent, limit int64) []extent {
	slices.SortFunc(ranges, func(a, b extent) int { return int(min(max(a.off-b.off, -1), 1)) })
	joined := ranges
	for gap := int64(nearGap); gap <= farGap; gap *= 4 {
		next := merged(ranges, gap)
		var total int64
		for _, e := range next {
			total += e.end - e.off
		}
		if total > limit && gap > nearGap {
			break
		}
		if joined = next; len(joined) <= fewReads {
			break
		}
	}
	return joined
}

func merged(ranges []extent, gap int64) []extent {
	var out []extent
	for _, e := range ranges {
		if n := len(out); n > 0 && e.off <= out[n-1].end+gap {
			out[n-1].end = max(out[n-1].end, e.end)
			continue
		}
		out = append(out, e)
	}
	return out
}
