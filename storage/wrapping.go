package storage

import "context"

// Wrapping returns a context under which Open hands out what wrap makes of
// each bucket: for tests that count or fail what a whole command asks of
// storage, without its buckets in hand. Of two, the outer context's wraps
// first.
func Wrapping(ctx context.Context, wrap func(*Bucket) *Bucket) context.Context {
	if inner := wrapper(ctx); inner != nil {
		outer := wrap
		wrap = func(b *Bucket) *Bucket { return outer(inner(b)) }
	}
	return context.WithValue(ctx, wrapping{}, wrap)
}

type wrapping struct{}

func wrapper(ctx context.Context) func(*Bucket) *Bucket {
	wrap, _ := ctx.Value(wrapping{}).(func(*Bucket) *Bucket)
	return wrap
}
