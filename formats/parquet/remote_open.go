package parquet

import (
	"cmp"
	"errors"
	"io"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats"
)

const (
	nearGap  = 64 << 10 // bytes that are read to save a request
	someGap  = 1 << 20  // the same, while there are more ranges than concurrent requests
	farGap   = 16 << 20 // bytes of all gaps that are read if then only fewReads ranges are left
	pageGap  = 12 << 20 // the same, when only some pages of large chunks are read: those of a row group, and of light columns
	fewReads = 2
	atOnce   = 8 // concurrent requests
)

// FetchAhead makes readers of the file fetch what they need in a few large
// requests before they need it, for an object store (see stream). They hold at
// most limit bytes of it, or a piece for each column if these are more. Call it
// before NewReader.
func (f *File) FetchAhead(limit int64) { f.ahead = limit }

// OpenAhead is Open with FetchAhead, for a source in which each read is a
// request: it keeps what was read for the footer, so that a small file needs no
// other request. A few adjacent rows then cost at most two further requests in
// most files of a Writer. In files whose row groups have tens of MB, such as those
// of other tools, they cost a request for each large column, all at once: to read
// what lies between would take longer.
func OpenAhead(src io.ReaderAt, size int64, name string, limit int64) (*File, error) {
	return openAhead(src, size, name, limit, codecs)
}

// OpenAgain is OpenAhead for a file that was opened before, without a request:
// end is what End returned then.
func OpenAgain(src io.ReaderAt, size int64, name string, limit int64, end []byte) (*File, error) {
	return openWith(src, size, name, limit, extent{size - int64(len(end)), size, end}, codecs)
}

// End returns what OpenAhead read of the file for its footer; nil if the file was
// opened otherwise.
func (f *File) End() []byte {
	if s, is := f.src.(*fetched); is {
		return s.extents[0].data
	}
	return nil
}

func openAhead(src io.ReaderAt, size int64, name string, limit int64, codecs []format.CompressionCodec) (*File, error) {
	end := extent{off: max(0, size-guess), end: max(0, size)}
	end.data = make([]byte, end.end-end.off)
	if err := readAt(src, end.data, end.off); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, formats.Invalid(name, "", err, "truncated")
		}
		return nil, err
	}
	return openWith(src, size, name, limit, end, codecs)
}

// openWith opens a file whose end is in memory.
func openWith(src io.ReaderAt, size int64, name string, limit int64, end extent,
	codecs []format.CompressionCodec) (*File, error) {
	f, err := open(&fetched{src, []extent{end}}, size, name, codecs)
	if err != nil {
		return nil, err
	}
	f.FetchAhead(limit)
	return f, nil
}

// fetchedFrom returns from which byte on the file is in memory.
func (f *File) fetchedFrom() int64 {
	if s, is := f.src.(*fetched); is {
		return s.extents[0].off
	}
	return math.MaxInt64
}

// extent is a range of a file, and the bytes fetched of it.
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

// fetch reads ranges into memory, with several concurrent requests.
func (f *File) fetch(wanted []extent) (*fetched, error) {
	slices.SortFunc(wanted, byOffset)
	wanted = join(wanted, nil, f.ahead, farGap)
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

// walls returns the heavy chunks of row groups that are not read: they are too
// large to be fetched just to save a request.
func (r *reader) walls(groups []groupMeta) []extent {
	wall := make([]bool, len(r.f.leaves))
	for i, n := range r.f.leaves {
		wall[i] = heavy[columnName(n.path)]
	}
	for _, l := range r.leaves {
		wall[l.node.leaf] = false
	}
	var out []extent
	for g := range groups {
		for c := range wall {
			if wall[c] {
				start, end := span(&groups[g].Columns[c].MetaData)
				out = append(out, extent{off: start, end: end})
			}
		}
	}
	slices.SortFunc(out, byOffset)
	return out
}

func byOffset(a, b extent) int { return cmp.Compare(a.off, b.off) }

// join merges sorted ranges whose gaps are worth less than a request: small gaps
// always; larger ones, the smallest first, if with far bytes in all only
// fewReads ranges are left, and limit bytes in all; else those of up to someGap
// until there is a range for each concurrent request. No gap contains a wall.
func join(ranges, walls []extent, limit, far int64) []extent {
	joined := merged(ranges, walls, nearGap)
	var gaps []int64
	for i, e := range joined {
		limit -= e.end - e.off
		if i > 0 && !between(walls, joined[i-1].end, e.off) {
			gaps = append(gaps, e.off-joined[i-1].end)
		}
	}
	slices.Sort(gaps)
	if few := largest(gaps, len(joined)-fewReads, min(far, limit)); few > 0 {
		return merged(joined, walls, few)
	}
	n, _ := slices.BinarySearch(gaps, someGap+1)
	if n = min(n, len(joined)-atOnce); n > 0 && largest(gaps, n, limit) > 0 {
		return merged(joined, walls, gaps[n-1])
	}
	return joined
}

// largest returns the largest of the n smallest gaps; 0 if there are fewer or
// they have more than most bytes together.
func largest(gaps []int64, n int, most int64) int64 {
	if n <= 0 || n > len(gaps) {
		return 0
	}
	for _, g := range gaps[:n] {
		most -= g
	}
	if most < 0 {
		return 0
	}
	return gaps[n-1]
}

func merged(ranges, walls []extent, gap int64) []extent {
	var out []extent
	for _, e := range ranges {
		if n := len(out); n > 0 && e.off <= out[n-1].end+gap && !between(walls, out[n-1].end, e.off) {
			out[n-1].end = max(out[n-1].end, e.end)
			continue
		}
		out = append(out, e)
	}
	return out
}

// between reports whether a wall begins in a gap.
func between(walls []extent, from, to int64) bool {
	i, _ := slices.BinarySearchFunc(walls, from, func(w extent, at int64) int { return cmp.Compare(w.off, at) })
	return i < len(walls) && walls[i].off < to
}
