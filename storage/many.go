package storage

import (
	"context"
	"iter"
	"math"

	"golang.org/x/sync/errgroup"
)

// AtOnce is the number of small objects that are read or removed concurrently.
const AtOnce = 32

// InOrder yields what load returns for 0 to n-1, in this order, and loads up to
// limit of them concurrently, also while the caller works. An error is the last
// that is yielded.
func InOrder[V any](ctx context.Context, n, limit int, load func(ctx context.Context, i int) (V,
	error)) iter.Seq2[V, error] {
	type result struct {
		value V
		err   error
	}
	return func(yield func(V, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		var waiting []chan result
		for next := range n + limit {
			if next < n {
				to := make(chan result, 1)
				go func() {
					v, err := load(ctx, next)
					to <- result{v, err}
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

// First returns the first n objects of a listing.
func First(all iter.Seq2[Object, error], n int) ([]Object, error) {
	var out []Object
	for o, err := range all {
		if err != nil {
			return nil, err
		}
		if out = append(out, o); len(out) == n {
			break
		}
	}
	return out, nil
}

// ListAll returns every object under a prefix.
func (b *Bucket) ListAll(ctx context.Context, prefix string) ([]Object, error) {
	return First(b.List(ctx, prefix), math.MaxInt)
}

// DeleteAll removes objects, concurrently: all of a list before those of the next.
func (b *Bucket) DeleteAll(ctx context.Context, lists ...[]Object) error {
	for _, objects := range lists {
		all, ctx := errgroup.WithContext(ctx)
		all.SetLimit(AtOnce)
		for _, o := range objects {
			all.Go(func() error { return b.Delete(ctx, o.Key) })
		}
		if err := all.Wait(); err != nil {
			return err
		}
	}
	return nil
}
