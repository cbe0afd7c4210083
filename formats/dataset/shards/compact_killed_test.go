package shards

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/seal"
	"github.com/rollmill/rollmill/storage/s3test"
)

func TestCompactKilledAnywhere(t *testing.T) {
	ctx := context.Background()
	places(t, func(t *testing.T, uri string) {
		step := 1
		if testing.Short() && strings.HasPrefix(uri, "mem:") {
			step = 5
		} else if testing.Short() {
			step = 13
		}
		for after := 0; ; after += step {
			uri := sibling(uri, fmt.Sprint("-", after))
			old := dealt(t, uri, 5, after%2 == 0, 3, 0)
			hook, dead := killer(after)
			_, err := compactOnce(ctx, uri, testSize, Options{hook: hook})
			killed := dead()
			if killed && err == nil { // a read ahead that nobody waits for may come after all that matters
				killed = open(t, uri).Compacted == nil
			}
			if killed && !errors.Is(err, errKilled) || !killed && err != nil {
				t.Fatalf("killed before operation %d, and compact said %v", after+1, err)
			}
			_, err = seal.Dataset(ctx, uri)
			check(t, err)
			sameDataset(t, old, open(t, uri))
			sameDataset(t, old, compacted(t, uri))
			check(t, surveyed(t, uri).Clean(ctx))
			d := open(t, uri)
			sameDataset(t, d, d)
			if left, err := d.Unnamed(ctx); left != nil || err != nil || d.Compacted == nil {
				t.Fatalf("after a kill before operation %d: %q, %v", after+1, left, err)
			}
			if !dead() && after%2 == 0 {
				t.Logf("%d operations", after)
				return
			}
		}
	})
}

func TestCompactAfterAKill(t *testing.T) {
	uri, killed := t.TempDir(), false
	old := dealt(t, uri, 5, true, 3, 0)
	_, err := compactOnce(t.Context(), uri, testSize, Options{hook: func(op, key string) error {
		if killed = killed || op == "publish" && key == manifest.FileName; killed {
			return errKilled
		}
		return nil
	}})
	left, _ := filepath.Glob(uri + "/part-????????????????-*.parquet")
	if !errors.Is(err, errKilled) || len(left) != 1 {
		t.Fatalf("%v, %q", err, left)
	}
	check(t, os.Chtimes(left[0], time.Time{}, time.Now().Add(-100*time.Millisecond)))
	d, err := Compact(t.Context(), open(t, uri), testSize)
	check(t, err)
	sameDataset(t, old, d)
	f := surveyedAt(t, uri, time.Now().Add(time.Hour))
	if !f.Active.IsZero() || len(f.Parts) != len(old.Parts)+1 {
		t.Errorf("a writer was active at %s, and %d parts are left", f.Active, len(f.Parts))
	}
}

func TestCompactWithAWrongClock(t *testing.T) {
	for _, ahead := range []time.Duration{-5 * time.Hour, 5 * time.Hour} {
		store := s3test.Start(t)
		uri, clock := store.URI("ds"), ahead
		passes := func(d time.Duration) {
			clock += d
			store.SetFaults(s3test.Faults{Ahead: clock})
		}
		passes(0)
		old := dealt(t, uri, 5, true, 6, 0)
		killed := false
		_, err := compactOnce(t.Context(), uri, testSize, Options{hook: func(op, key string) error {
			if killed = killed || op == "publish" && key == manifest.FileName; killed {
				return errKilled
			}
			return nil
		}})
		if !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		late, looked := open(t, uri), false
		passes(time.Minute)
		compacted(t, uri)
		if f := surveyedAt(t, uri, time.Now().Add(clock+time.Hour)); f.Manifest.Compacted == nil || !f.Active.IsZero() {
			t.Errorf("ahead %s: the killed one was active at %s", ahead, f.Active)
		}
		passes(time.Minute)
		late.Bucket = late.Bucket.WithHook(func(op, key string) error {
			if looked = looked || key == manifest.FileName; key == manifest.FileName {
				if f := surveyedAt(t, uri, time.Now().Add(clock)); f.Active.IsZero() {
					t.Errorf("ahead %s: the running one is not seen", ahead)
				}
			}
			return nil
		})
		_, err = Compact(t.Context(), late, testSize)
		check(t, err)
		if !looked {
			t.Error("it did not run")
		}
		sameDataset(t, old, open(t, uri))
	}
}

func TestCompactsRace(t *testing.T) {
	places(t, func(t *testing.T, uri string) {
		old := dealt(t, uri, 4, true, 6, 0)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				d, err := compactOnce(t.Context(), uri, testSize, Options{})
				if err != nil || d.Compacted == nil {
					t.Error(err)
				}
			})
		}
		for range 3 {
			all.Go(func() {
				if _, err := seal.Dataset(t.Context(), uri); err != nil {
					t.Error(err)
				}
				if d, err := dataset.Open(t.Context(), uri, dataset.OpenOptions{}); err != nil || dataset.Verify(t.Context(), d) != nil {
					t.Error("a reader:", err)
				}
			})
		}
		all.Wait()
		d := open(t, uri)
		sameDataset(t, old, d)
		if left, err := d.Unnamed(t.Context()); len(left) != len(old.Parts) || err != nil {
			t.Errorf("%q is left, %v", left, err)
		}
	})
}

func TestCompactLosesToOthers(t *testing.T) {
	places(t, func(t *testing.T, uri string) {
		write(t.Context(), t, uri, wideSpec(), Options{Of: 2}, 4)
		write(t.Context(), t, uri, wideSpec(), Options{Shard: 1, Of: 2}, 4)
		d := open(t, uri)
		write(t.Context(), t, uri, specOf(8), Options{Overwrite: true}, 2)
		if _, err := Compact(t.Context(), d, testSize); err == nil {
			t.Error("a dataset that was replaced was compacted")
		}
		if left := orphans(t, uri); left != nil {
			t.Errorf("%q is left", left)
		}
		check(t, dataset.Verify(t.Context(), open(t, uri)))
	})
	places(t, func(t *testing.T, uri string) {
		old := dealt(t, uri, 1, true, 3, 0)
		d, changed := open(t, uri), false
		d.Bucket = d.Bucket.WithHook(func(op, key string) error {
			if key == manifest.FileName && !changed { // another gate was evaluated
				changed = true
				now, err := seal.ReadCurrent(t.Context(), old.Bucket)
				check(t, err)
				now.Manifest.Gates = []manifest.GateResult{{Gate: manifest.Gate{Name: "max-errors", Count: "errors"}}}
				check(t, old.Bucket.Swap(t.Context(), manifest.FileName, now.Raw, now.Manifest.Encode()))
			}
			return nil
		})
		now, err := Compact(t.Context(), d, testSize)
		if err != nil || now.Compacted == nil || len(open(t, uri).Gates) != 1 {
			t.Errorf("%v: %+v", err, now)
		}
		sameDataset(t, old, open(t, uri))
	})
}
