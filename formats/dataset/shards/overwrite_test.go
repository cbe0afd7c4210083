package shards

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/seal"
	"github.com/rollmill/rollmill/formats/dataset/storetime"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
	"github.com/rollmill/rollmill/storage/s3test"
)

func specOf(generations int) manifest.Spec {
	spec := wideSpec()
	spec.Params = map[string]any{"generations": generations}
	return spec
}

// begun returns a shard that has written a part and not ended.
func begun(t *testing.T, uri string, spec manifest.Spec, o Options) *Shard {
	t.Helper()
	o.partSize = 1
	s, err := Begin(t.Context(), uri, spec, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := NewTable[formats.Trajectory](s, "", -1).Write(t.Context(), group(0, 4)); err != nil {
		t.Fatal(err)
	}
	return s
}

// orphans returns the parts that a dataset does not name.
func orphans(t *testing.T, uri string) []string {
	t.Helper()
	d := open(t, uri)
	var out []string
	for _, k := range keys(t, uri) {
		if _, isPart := manifest.PartName(k); isPart && !slices.ContainsFunc(d.AllParts(), func(p manifest.Part) bool { return p.Name == k }) {
			out = append(out, k)
		}
	}
	return out
}

// Of two commands that overwrite one dataset, the one that ends later replaces
// nothing: the dataset that it was to replace is gone.
func TestOverwriteReplacesWhatStoodAtItsStartOrFails(t *testing.T) {
	places(t, func(t *testing.T, uri string) {
		ctx := context.Background()
		write(ctx, t, uri, specOf(2), Options{}, 3)
		slow := begun(t, uri, specOf(3), Options{Overwrite: true}) // a process that is stopped here
		write(ctx, t, uri, specOf(4), Options{Overwrite: true}, 3)
		_, err := slow.Commit(ctx, Outcome{})
		if exists := (*manifest.ExistsError)(nil); !errors.As(err, &exists) || !exists.Late || !strings.Contains(fault.HintOf(exists), "--overwrite") {
			t.Fatalf("the slow one: %v", err)
		}
		d := open(t, uri)
		if d.Identity != specOf(4).Identity() {
			t.Error("the newer dataset was replaced")
		}
		if err := dataset.Verify(ctx, d); err != nil {
			t.Error(err)
		}
		if left := orphans(t, uri); left != nil {
			t.Errorf("%q is left", left)
		}
		write(ctx, t, uri, specOf(3), Options{Overwrite: true}, 3)
		if d := open(t, uri); d.Identity != specOf(3).Identity() || dataset.Verify(ctx, d) != nil {
			t.Error("begun again, it does not replace what stands now")
		}
	})
}

// A command that was stopped before it looked replaces nothing that was written
// since it began, whatever its own clock shows.
func TestOverwriteReplacesOnlyWhatStoodWhenTheCommandBegan(t *testing.T) {
	places(t, func(t *testing.T, uri string) {
		ctx := context.Background()
		write(ctx, t, uri, specOf(2), Options{}, 3)
		d := open(t, uri)
		began := time.Now().Add(-time.Hour) // and then it was stopped
		_, err := Begin(storetime.Began(ctx, began), uri, specOf(3), Options{Overwrite: true})
		if exists := (*manifest.ExistsError)(nil); !errors.As(err, &exists) || !exists.Late {
			t.Fatalf("%v", err)
		}
		if left := keys(t, uri); slices.ContainsFunc(left, func(k string) bool { return strings.Contains(k, "writing") }) {
			t.Errorf("it left %q", left)
		}
		if now := open(t, uri); now.Identity != d.Identity || dataset.Verify(ctx, now) != nil {
			t.Error("the newer dataset was changed")
		}
		write(storetime.Began(ctx, time.Now()), t, uri, specOf(3), Options{Overwrite: true}, 3)
		if d := open(t, uri); d.Identity != specOf(3).Identity() || dataset.Verify(ctx, d) != nil {
			t.Error("begun later, it does not replace what stands")
		}
	})
}

// Parts of a command that is going to replace the dataset are kept while others
// clean up; until then they are not part of the dataset.
func TestTidyingLeavesALiveOverwriterAlone(t *testing.T) {
	places(t, func(t *testing.T, uri string) {
		ctx := context.Background()
		write(ctx, t, uri, specOf(2), Options{}, 3)
		one := begun(t, uri, specOf(3), Options{Overwrite: true, Shard: 0, Of: 2})
		write(ctx, t, uri, specOf(3), Options{Overwrite: true, Shard: 1, Of: 2}, 3)
		if _, err := seal.Dataset(ctx, uri); err != nil {
			t.Fatal(err)
		}
		write(ctx, t, uri, specOf(2), Options{}, 3) // up to date, and tidies
		if res, err := one.Commit(ctx, Outcome{}); err != nil || res.Sealed == nil {
			t.Fatalf("%+v, %v", res, err)
		}
		if err := dataset.Verify(ctx, open(t, uri)); err != nil {
			t.Error(err)
		}
		if left := orphans(t, uri); left != nil {
			t.Errorf("%q is left", left)
		}
	})
}

// A part that a killed writer left is found, and removed by Seal or when the
// stage is run again.
func TestUnnamedParts(t *testing.T) {
	places(t, func(t *testing.T, uri string) {
		ctx := context.Background()
		for name, remove := range map[string]func(){
			"seal":  func() { _, err := seal.Dataset(ctx, uri); check(t, err) },
			"again": func() { write(ctx, t, uri, specOf(2), Options{}, 3) },
		} {
			write(ctx, t, uri, specOf(2), Options{}, 3)
			b, err := storage.Open(ctx, uri)
			check(t, err)
			check(t, b.Write(ctx, "part-00000-of-00001-00009-01234567.parquet", []byte("left")))
			d := open(t, uri)
			if got, err := d.Unnamed(ctx); err != nil || !slices.Contains(got, "part-00000-of-00001-00009-01234567.parquet") {
				t.Errorf("%s: unnamed: %q, %v", name, got, err)
			}
			remove()
			if left := orphans(t, uri); left != nil {
				t.Errorf("%s: %q is left", name, left)
			}
			if got, err := d.Unnamed(ctx); err != nil || got != nil {
				t.Errorf("%s: unnamed: %q, %v", name, got, err)
			}
			check(t, dataset.Verify(ctx, d))
		}
	})
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A response may be lost after an object was created, and the repeated request
// fails because the object exists. Whichever response is lost, the dataset has
// its parts, and nothing else is left after the command was run again.
func TestLostAnswersLoseNothing(t *testing.T) {
	seeds := int64(8)
	if testing.Short() {
		seeds = 2
	}
	for name, lost := range map[string]error{"exists": storage.ErrExist, "temporary": storage.ErrTemporary} {
		t.Run(name, func(t *testing.T) {
			places(t, func(t *testing.T, uri string) {
				for seed := range seeds {
					uri := sibling(uri, "-"+string(rune('a'+seed)))
					chance := rand.New(rand.NewPCG(uint64(seed), 0))
					var mu sync.Mutex
					lose := func(op, _ string) error {
						mu.Lock()
						defer mu.Unlock()
						if op == "published" && chance.Float64() < 0.3 {
							return lost
						}
						return nil
					}
					ctx := storage.Wrapping(context.Background(), func(b *storage.Bucket) *storage.Bucket { return b.WithHook(lose) })
					spec := manifest.Spec{Stage: "score", Version: 1, Kind: schema.KindScores}
					for range 40 {
						if shardOnce(ctx, uri, spec, Options{Of: 1, partSize: 1}) == nil {
							break
						}
					}
					check(t, shardOnce(context.Background(), uri, spec, Options{Of: 1, partSize: 1}))
					d := open(t, uri)
					if err := dataset.Verify(context.Background(), d); err != nil || d.Rows != 6 {
						t.Errorf("seed %d: %d rows, %v", seed, d.Rows, err)
					}
					if left := orphans(t, uri); left != nil {
						t.Errorf("seed %d: %q is left", seed, left)
					}
				}
			})
		})
	}
}

// The same for an object store whose connections break after the request was
// executed.
func TestLostAnswersOfAnObjectStore(t *testing.T) {
	s := s3test.Start(t)
	for seed := range int64(2) {
		uri := s.URI("lost/" + string(rune('a'+seed)))
		spec := manifest.Spec{Stage: "score", Version: 1, Kind: schema.KindScores}
		s.SetFaults(s3test.Faults{Seed: seed, Lost: 0.2})
		for range 10 {
			if shardOnce(t.Context(), uri, spec, Options{Of: 1, partSize: 1}) == nil {
				break
			}
		}
		s.SetFaults(s3test.Faults{})
		check(t, shardOnce(t.Context(), uri, spec, Options{Of: 1, partSize: 1}))
		d := open(t, uri)
		if err := dataset.Verify(t.Context(), d); err != nil || d.Rows != 6 {
			t.Errorf("seed %d: %d rows, %v", seed, d.Rows, err)
		}
		if left := orphans(t, uri); left != nil {
			t.Errorf("seed %d: %q is left", seed, left)
		}
	}
}

// A folder with more shards than a dataset may have was not written by
// rollmill.
func TestFolderOfTooManyShardsIsIgnored(t *testing.T) {
	uri := memory(t) + "/d"
	ctx := context.Background()
	b, err := storage.Open(ctx, uri)
	check(t, err)
	check(t, b.Create(ctx, ".rollmill/0123456789abcdef-400000000/shard-0.json", []byte("{}")))
	if _, err := dataset.Open(ctx, uri, dataset.OpenOptions{}); !errors.Is(err, storage.ErrNotExist) {
		t.Error(err)
	}
	if _, err := Begin(ctx, uri, wideSpec(), Options{Of: manifest.MaxShards + 1}); err == nil {
		t.Error("too many shards are begun")
	}
}
