package journals

import (
	"cmp"
	"context"
	"iter"
	"reflect"
	"slices"

	"github.com/rollmill/rollmill/storage"
)

// sortBytes bounds the memory of the rows that Sorted holds. It is more than
// what rollout may take for a segment, because the rows are sorted when the
// agents are done, and half of it would be twice as much decoding.
const sortBytes = 64 << 20

// Sorted yields the rows by ascending rank, those of equal rank together, in
// bounded memory. The slice belongs to the caller until the next one is
// yielded. A segment is loaded once for the index, and once for each sortBytes
// of the sorted rows that it has a row in, up to a third more often.
func (j *Journal[T]) Sorted(ctx context.Context, rank func(*T) int64) iter.Seq2[[]T, error] {
	return j.sorted(ctx, rank, sortBytes)
}

func (j *Journal[T]) sorted(ctx context.Context, rank func(*T) int64, limit int64) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		segments := j.list()
		index, err := j.index(ctx, segments, rank)
		if err != nil {
			yield(nil, err)
			return
		}
		next := newSortWindow(j, segments, index, limit)
		id := idOf[T]()
		var group []T
		var names []string // of the group's rows
		for i, e := range index {
			row, err := next.row(ctx, i)
			if err != nil {
				yield(nil, err)
				return
			}
			if name := id(row); !slices.Contains(names, name) {
				group, names = append(group, *row), append(names, name)
			}
			if i+1 < len(index) && index[i+1].rank == e.rank {
				continue
			}
			if !yield(group, nil) {
				return
			}
			group, names = group[:0], names[:0]
		}
	}
}

// entry says where the row of a rank is.
type entry struct {
	rank         int64
	segment, row int32
}

// index reads every segment once and sorts the rows. With the places it takes
// 20 bytes of memory for each.
func (j *Journal[T]) index(ctx context.Context, segments []storage.Object, rank func(*T) int64) ([]entry, error) {
	var out []entry
	s := int32(0)
	for rows, err := range j.all(ctx, segments) {
		if err != nil {
			return nil, err
		}
		for i := range rows {
			out = append(out, entry{rank(&rows[i]), s, int32(i)})
		}
		s++
	}
	slices.SortFunc(out, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.segment, b.segment), cmp.Compare(a.row, b.row))
	})
	return out, nil
}

// idOf returns a function that reads a row's trajectory_id; it returns "" for
// rows without one.
func idOf[T any]() func(*T) string {
	f, ok := reflect.TypeFor[T]().FieldByName("TrajectoryID")
	if !ok || f.Type.Kind() != reflect.String {
		return func(*T) string { return "" }
	}
	return func(row *T) string { return reflect.ValueOf(row).Elem().FieldByIndex(f.Index).String() }
}
