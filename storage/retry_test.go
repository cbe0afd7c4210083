package storage

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestALongTryIsRepeated checks that an upload which fails after more than the fifteen
// minutes of package backoff's default is tried again, and that the number of tries is
// what ends it.
func TestALongTryIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, tries := &Bucket{far: &Client{}}, 0
		failing := func(until int) func(request) error {
			tries = 0
			return func(r request) error {
				r.moves(slowest * 3600) // an hour's bytes
				time.Sleep(20 * time.Minute)
				if tries++; tries < until {
					return ErrTemporary
				}
				return nil
			}
		}
		if err := b.retry(context.Background(), failing(3)); err != nil || tries != 3 {
			t.Errorf("%d tries: %v", tries, err)
		}
		if err := b.retry(context.Background(), failing(100)); !errors.Is(err, ErrTemporary) || tries != attempts {
			t.Errorf("%d tries: %v", tries, err)
		}
	})
}
