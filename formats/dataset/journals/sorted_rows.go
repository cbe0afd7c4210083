package journals

import (
	"bytes"
	"context"
	"encoding/binary"
	"iter"
	"reflect"
	"slices"

	"github.com/rollmill/rollmill/formats/spill"
)

// sortBytes is about how much memory Sorted takes for rows.
const sortBytes = 16 << 20

// Sorted yields the rows by ascending rank, those of equal rank together. What exceeds
// its memory lies in a file in the system's folder for temporary files. The slice belongs
// to the caller until the next one is yielded. Each segment is loaded once.
func (j *Journal[T]) Sorted(ctx context.Context, rank func(*T) (int64, error)) iter.Seq2[[]T, error] {
	return j.sorted(ctx, rank, sortBytes)
}

func (j *Journal[T]) sorted(ctx context.Context, rank func(*T) (int64, error), memory int64) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		sorter := spill.New("", memory)
		defer sorter.Close()
		if err := j.addTo(ctx, sorter, rank); err != nil {
			yield(nil, err)
			return
		}
		id := idOf[T]()
		var at []byte // the rank of the group
		var group []T
		var names []string // of the group's rows
		for r, err := range sorter.Sorted() {
			if err != nil {
				yield(nil, err)
				return
			}
			if len(group) > 0 && !bytes.Equal(at, r.Key[:rankBytes]) {
				if !yield(group, nil) {
					return
				}
				group, names = group[:0], names[:0]
			}
			at = append(at[:0], r.Key[:rankBytes]...)
			var row T
			spill.Decode(r.Value, &row)
			if name := id(&row); !slices.Contains(names, name) {
				group, names = append(group, row), append(names, name)
			}
		}
		if len(group) > 0 {
			yield(group, nil)
		}
	}
}

// rankBytes is the size of a rank at the beginning of a key.
const rankBytes = 8

// addTo adds every row with a key of its rank and its place in the journal.
func (j *Journal[T]) addTo(ctx context.Context, sorter *spill.Sorter, rank func(*T) (int64, error)) error {
	var key, value []byte
	place := uint64(0)
	for rows, err := range j.all(ctx, j.list()) {
		if err != nil {
			return err
		}
		for i := range rows {
			at, err := rank(&rows[i])
			if err != nil {
				return err
			}
			key = binary.BigEndian.AppendUint64(key[:0], uint64(at)^1<<63) // negative ranks first
			key = binary.BigEndian.AppendUint64(key, place)
			value = spill.Append(value[:0], &rows[i])
			if err := sorter.Add(key, value); err != nil {
				return err
			}
			place++
		}
	}
	return nil
}

// idOf returns a function that reads a row's trajectory_id; it returns "" for rows without one.
func idOf[T any]() func(*T) string {
	f, ok := reflect.TypeFor[T]().FieldByName("TrajectoryID")
	if !ok || f.Type.Kind() != reflect.String {
		return func(*T) string { return "" }
	}
	return func(row *T) string { return reflect.ValueOf(row).Elem().FieldByIndex(f.Index).String() }
}
