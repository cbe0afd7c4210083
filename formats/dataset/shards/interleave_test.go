package shards

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/seal"
	"github.com/rollmill/rollmill/storage/s3test"
)

// attempt writes one shard as a command would.
func attempt(ctx context.Context, uri string, spec manifest.Spec, o Options) (Result, error) {
	s, err := Begin(ctx, uri, spec, o)
	if err != nil {
		return Result{}, err
	}
	defer s.Discard()
	if !s.UpToDate() {
		if err := NewTable[formats.Trajectory](s, "", -1).Write(ctx, group(o.Shard, 4)); err != nil {
			return Result{}, err
		}
	}
	return s.Commit(ctx, Outcome{})
}

// TestAnotherCommandAtAnyOperation: before each storage operation of a command,
// another command that writes to the same place runs from beginning to end. The
// first command replaces the dataset that is there or reports that it came
// late, and never returns a dataset that is not there; the dataset that is
// there in the end is complete.
func TestAnotherCommandAtAnyOperation(t *testing.T) {
	for name, c := range map[string]struct {
		exists bool // there is another dataset that both are to replace
		of     int
		other  manifest.Spec
	}{
		"both overwrite":             {true, 1, specOf(4)},
		"both overwrite, two shards": {true, 2, specOf(4)},
		"neither overwrites":         {false, 1, specOf(4)},
		"the same dataset":           {true, 1, specOf(3)},
		"the same, two shards":       {false, 2, specOf(3)},
	} {
		t.Run(name, func(t *testing.T) {
			store := s3test.Start(t) // no lock of this machine protects it
			step := 1
			if testing.Short() {
				step = 3
			}
			for at, last := 0, false; !last; at += step {
				last = interleaved(t, store.URI(fmt.Sprint(at)), c.exists, c.of, c.other, at)
				if t.Failed() {
					t.Fatalf("before operation %d", at)
				}
			}
		})
	}
}

// interleaved reports whether the command had fewer operations.
func interleaved(t *testing.T, uri string, exists bool, of int, other manifest.Spec, at int) bool {
	ctx := context.Background()
	if exists {
		write(ctx, t, uri, specOf(2), Options{}, 3)
	}
	first := Options{Shard: of - 1, Of: of, Overwrite: exists}
	for shard := range of - 1 {
		_, err := attempt(ctx, uri, specOf(3), Options{Shard: shard, Of: of, Overwrite: exists})
		check(t, err)
	}
	var one sync.Mutex // operations are concurrent
	n := 0
	first.hook = func(string, string) error {
		one.Lock()
		defer one.Unlock()
		if n++; n == at+1 {
			others := Options{Overwrite: exists}
			if other.Identity() == specOf(3).Identity() {
				others.Shard, others.Of = first.Shard, of
			}
			tolerable(t, "the other", second(attempt(ctx, uri, other, others)))
		}
		return nil
	}
	res, err := attempt(ctx, uri, specOf(3), first)
	tolerable(t, "the first", err)
	d := open(t, uri)
	if err == nil && (slices.Contains(res.Missing, first.Shard) || res.Missing == nil && res.Sealed.Identity != specOf(3).Identity()) {
		t.Errorf("the first one ends with %+v", res)
	}
	if id := d.Identity; id != specOf(3).Identity() && id != other.Identity() {
		t.Errorf("%s stands", id)
	}
	check(t, dataset.Verify(ctx, d))
	_, err = seal.Dataset(ctx, uri)
	check(t, err)
	if left, err := d.Unnamed(ctx); left != nil || err != nil {
		t.Errorf("%q is left, %v", left, err)
	}
	one.Lock()
	defer one.Unlock()
	return n <= at
}

func second[A any](_ A, err error) error { return err }

func tolerable(t *testing.T, who string, err error) {
	t.Helper()
	if exists := (*manifest.ExistsError)(nil); err != nil && !errors.As(err, &exists) {
		t.Errorf("%s: %v", who, err)
	}
}
