package journals

import (
	"context"

	"github.com/rollmill/rollmill/storage"
)

// sortWindow holds the next rows of a sorted index, as many as fit the limit.
// When a row is missing, its segment is loaded, and those of its rows that are
// in the window are kept. So a segment is loaded again only for a row that is
// the limit away from where it was loaded, in whatever order its rows are.
type sortWindow[T any] struct {
	journal  *Journal[T]
	segments []storage.Object
	index    []entry
	places   [][]int32 // in the index, of each segment's rows
	sizes    []int64   // of a row of each segment, approximately

	held  map[int32]*T // by place
	end   int          // of the window: the first place after it
	bytes int64        // of the places from the next one to the end
	limit int64

	ahead   int // number of segments that are loaded concurrently
	loading map[int32]chan loaded[T]
}

// loaded is the rows of a segment, or why they could not be read.
type loaded[T any] struct {
	rows []T
	err  error
}

func newSortWindow[T any](j *Journal[T], segments []storage.Object, index []entry, limit int64) *sortWindow[T] {
	w := &sortWindow[T]{
		journal: j, segments: segments, index: index, places: make([][]int32, len(segments)),
		sizes: make([]int64, len(segments)),
		held:  map[int32]*T{}, limit: limit, ahead: window(segments), loading: map[int32]chan loaded[T]{},
	}
	rows := make([]int, len(segments))
	for _, e := range index {
		rows[e.segment]++
	}
	for s, n := range rows {
		w.places[s] = make([]int32, n)
		w.sizes[s] = decodedBytes(segments[s], n) / int64(max(1, n))
	}
	for i, e := range index {
		w.places[e.segment][e.row] = int32(i)
	}
	return w
}

// row returns the row at a place, which is the one after the last that was asked
// for.
func (w *sortWindow[T]) row(ctx context.Context, at int) (*T, error) {
	row := w.held[int32(at)]
	if row == nil {
		w.load(ctx, at)
		l := <-w.loading[w.index[at].segment]
		delete(w.loading, w.index[at].segment)
		if l.err != nil {
			return nil, l.err
		}
		w.keep(w.index[at].segment, l.rows, at)
		row = w.held[int32(at)]
	}
	delete(w.held, int32(at))
	w.bytes -= w.sizes[w.index[at].segment]
	return row, nil
}

// load starts to load the segment of a place, and those of the next places that
// are not held. It looks only a quarter of the limit ahead: a segment that is
// loaded too early leaves more of its rows to be loaded again.
func (w *sortWindow[T]) load(ctx context.Context, at int) {
	bytes := int64(0)
	for i := at; i < len(w.index) && (i == at || bytes <= w.limit/4 && len(w.loading) < w.ahead); i++ {
		s := w.index[i].segment
		bytes += w.sizes[s]
		if w.held[int32(i)] != nil || w.loading[s] != nil {
			continue
		}
		to := make(chan loaded[T], 1)
		w.loading[s] = to
		go func() {
			rows, err := w.journal.load(ctx, w.segments[s])
			to <- loaded[T]{rows, err}
		}()
	}
}

// keep moves the window to where it begins at a place, and keeps those of a
// segment's rows that are in it.
func (w *sortWindow[T]) keep(s int32, rows []T, at int) {
	for w.end < len(w.index) && (w.end == at || w.bytes+w.sizes[w.index[w.end].segment] <= w.limit) {
		w.bytes += w.sizes[w.index[w.end].segment]
		w.end++
	}
	for i, place := range w.places[s] {
		if at <= int(place) && int(place) < w.end && w.held[place] == nil {
			row := rows[i]
			detach(&row)
			w.held[place] = &row
		}
	}
}
