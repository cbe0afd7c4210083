package dataset

import (
	"context"
	"iter"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/storage"
)

// atOnce is the number of small objects that are read or removed concurrently.
const atOnce = 32

// result is what was loaded, or why it was not.
type result[V any] struct {
	value V
	err   error
}

// inOrder yields what load returns for 0 to n-1, in this order, and loads up to
// limit of them concurrently, also while the caller works. An error is the last
// that is yielded.
func inOrder[V any](ctx context.Context, n, limit int, load func(ctx context.Context, i int) (V, error)) iter.Seq2[V, error] {
	return func(yield func(V, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		var waiting []chan result[V]
		for next := range n + limit {
			if next < n {
				to := make(chan result[V], 1)
				go func() {
					v, err := load(ctx, next)
					to <- result[V]{v, err}
				}()
				waiting = append(waiting, to)
			}
			if next < limit-1 && next < n-1 || len(waiting) == 0 {
				continue
			}
			r := <-waiting[0]
			waiting = waiting[1:]
			if !yield(r.value, r.err) || r.err != nil {
				return
			}
		}
	}
}

// removeAll removes objects, concurrently: all of a list before those of the
// next.
func removeAll(ctx context.Context, b *storage.Bucket, lists ...[]storage.Object) error {
	for _, objects := range lists {
		all, ctx := errgroup.WithContext(ctx)
		all.SetLimit(atOnce)
		for _, o := range objects {
			all.Go(func() error { return b.Delete(ctx, o.Key) })
		}
		if err := all.Wait(); err != nil {
			return err
		}
	}
	return nil
}
