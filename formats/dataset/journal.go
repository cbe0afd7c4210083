package dataset

import (
	"context"
	"iter"
)

// Journal keeps finished rows of a shard durable until they are in a part.
// Each segment is one object, whole or absent. The journal belongs to
// (identity, shard, n): the same command finds it again after a crash. Commit
// removes it.
type Journal[T any] struct {
}

// OpenJournal finds what earlier runs of this shard left.
func OpenJournal[T any](ctx context.Context, s *Shard) (*Journal[T], error) { panic("todo") }

// Append makes rows durable as one segment. It is safe for concurrent use.
func (j *Journal[T]) Append(ctx context.Context, rows []T) error { panic("todo") }

// Rows yields every journalled row, segment by segment, unsorted. Of rows
// journalled twice (two live owners of one shard) both come.
func (j *Journal[T]) Rows(ctx context.Context) iter.Seq2[*T, error] { panic("todo") }

// Sorted yields the rows in the order of less, one group of equal key at a
// time, in bounded memory.
func (j *Journal[T]) Sorted(ctx context.Context, rank func(*T) int64) iter.Seq2[[]T, error] {
	panic("todo")
}
