package main

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/storage"
)

// remove deletes everything at a URI.
func remove(ctx context.Context, uri string) error {
	b, err := storage.Open(ctx, uri)
	if err != nil {
		return err
	}
	var all errgroup.Group
	all.SetLimit(16)
	for object, err := range b.List(ctx, "") {
		if err != nil {
			_ = all.Wait()
			return err
		}
		all.Go(func() error { return b.Delete(ctx, object.Key) })
	}
	return all.Wait()
}
