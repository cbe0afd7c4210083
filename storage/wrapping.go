package storage

import "context"

// Wrapping returns a context in which Open returns what wrap makes from each
// bucket: to count the bytes of a command for its progress, and for tests that
// count or fail the storage operations of a whole command. With two of them, the wrap of the
// outer context is applied first.
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
