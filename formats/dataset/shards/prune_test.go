package shards

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/seal"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
	"github.com/rollmill/rollmill/storage/s3test"
)

// surveyed surveys a dataset's folder as if an hour had passed.
func surveyed(t *testing.T, uri string) *seal.Folder {
	t.Helper()
	f, err := surveyOf(t.Context(), uri, Options{})
	if err != nil || f == nil {
		t.Fatal(f, err)
	}
	return f
}

func surveyOf(ctx context.Context, uri string, o Options) (*seal.Folder, error) {
	b, err := storage.Open(ctx, uri)
	if err != nil {
		return nil, err
	}
	if o.hook != nil {
		b = b.WithHook(o.hook)
	}
	all, err := b.ListAll(ctx, "")
	if err != nil {
		return nil, err
	}
	return seal.Survey(ctx, b, all, time.Now().Add(time.Hour))
}

// pruneOnce does what prune does with one dataset, over a store with a hook.
func pruneOnce(ctx context.Context, uri string, o Options) error {
	f, err := surveyOf(ctx, uri, o)
	if err != nil {
		return err
	}
	if err := f.Clean(ctx); err != nil || f.Pruned != nil {
		return err
	}
	return f.Prune(ctx, "--keep-epochs 3", time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC))
}

func TestPrunedDatasetSaysSo(t *testing.T) {
	places(t, func(t *testing.T, uri string) {
		write(t.Context(), t, uri, wideSpec(), Options{partSize: 1}, 3)
		old := open(t, uri)
		thin := writeThin(t, old, sibling(uri, "-thin"), 1)
		check(t, pruneOnce(t.Context(), uri, Options{}))
		if left := keys(t, uri); len(left) != 1 || left[0] != manifest.FileName {
			t.Errorf("%q is there", left)
		}
		_, err := dataset.Open(t.Context(), uri, dataset.OpenOptions{})
		invalid(t, err, "the dataset is gone: pruned on 2026-01-02 by --keep-epochs 3")
		if !errors.Is(err, storage.ErrNotExist) {
			t.Error("it exists:", err)
		}
		p := manifest.PrunedIn(err)
		if p == nil || p.Manifest.Rows != 12 || !p.Was(old.Ref("base", uri)) || p.Manifest.Counts["ok"] != 12 || p.Written.IsZero() {
			t.Fatalf("what is left is %+v", p)
		}
		if _, err := seal.Dataset(t.Context(), uri); manifest.PrunedIn(err) == nil {
			t.Error("seal:", err)
		}
		_, err = thin.OpenBase(t.Context())
		invalid(t, err, "is gone", "pruned on 2026-01-02")
		if rows, err := dataset.ReadAll[formats.Score](t.Context(), thin, "", thin.All()); err != nil || len(rows) != 12 {
			t.Errorf("%d rows of the thin dataset: %v", len(rows), err)
		}
		if _, err := Begin(t.Context(), uri, wideSpec(), Options{}); manifest.PrunedIn(err) == nil {
			t.Error("it is made again without being asked:", err)
		}
		write(t.Context(), t, uri, wideSpec(), Options{Overwrite: true}, 3)
		if d := open(t, uri); d.RowsDigest != old.RowsDigest || dataset.Verify(t.Context(), d) != nil {
			t.Error("made again, it has other rows")
		}
	})
}

// A reader that opened the dataset before reads on, or gets the error of whoever
// opens it now; never other rows. Of an object store, eight parts are opened ahead.
func TestPrunedUnderAReader(t *testing.T) {
	places(t, func(t *testing.T, uri string) {
		write(t.Context(), t, uri, wideSpec(), Options{partSize: 1}, 3*8)
		r, err := dataset.NewReader[formats.Trajectory](t.Context(), open(t, uri), "", dataset.Range{Rows: 12 * 8})
		check(t, err)
		defer r.Close()
		rows := make([]formats.Trajectory, 1)
		if _, err := r.Read(rows); err != nil {
			t.Fatal(err)
		}
		check(t, pruneOnce(t.Context(), uri, Options{}))
		for n := 1; ; n++ {
			_, err := r.Read(rows)
			if err == nil {
				continue
			}
			if errors.Is(err, io.EOF) || manifest.PrunedIn(err) == nil {
				t.Errorf("after %d rows: %v", n, err)
			}
			return
		}
	})
}

// The same in the middle of a part that is larger than the 48 MB that are fetched at once.
func TestPrunedUnderAReaderOfALargePart(t *testing.T) {
	uri, dice := s3test.Start(t).URI("ds"), rand.New(rand.NewPCG(1, 1))
	s, err := Begin(t.Context(), uri, wideSpec(), Options{})
	check(t, err)
	w := NewTable[formats.Trajectory](s, "", -1)
	const examples = 12
	for e := range examples {
		rows := group(e, 1)
		text := make([]byte, 6<<20)
		for i := range text {
			text[i] = byte(' ' + dice.IntN(90))
		}
		rows[0].Messages[0].Content = string(text)
		check(t, w.Write(t.Context(), rows))
	}
	_, err = s.Commit(t.Context(), Outcome{})
	check(t, err)
	d := open(t, uri)
	r, err := dataset.NewReader[formats.Trajectory](t.Context(), d, "", d.All())
	check(t, err)
	defer r.Close()
	row := make([]formats.Trajectory, 1)
	_, err = r.Read(row)
	check(t, err)
	check(t, pruneOnce(t.Context(), uri, Options{}))
	n := 1
	for ; err == nil; n++ {
		_, err = r.Read(row)
	}
	if n >= examples || manifest.PrunedIn(err) == nil || len(d.Parts) != 1 {
		t.Errorf("%d rows of %d parts, then %v", n, len(d.Parts), err)
	}
}

// A process may be killed before any storage operation of a prune, with leftovers
// of a killed writer in the folder. Until the manifest is replaced the rows are
// there; after it the dataset says that it was pruned. The same command ends in the
// same state.
func TestPruneKilledAnywhere(t *testing.T) {
	ctx := context.Background()
	places(t, func(t *testing.T, uri string) {
		for after := 0; ; after++ {
			uri := sibling(uri, fmt.Sprint("-", after))
			write(ctx, t, uri, wideSpec(), Options{partSize: 1}, 3)
			b, err := storage.Open(ctx, uri)
			check(t, err)
			check(t, b.Create(ctx, "part-00000-of-00001-00077-0123abcd.parquet", []byte("x")))
			hook, dead := killer(after)
			err = pruneOnce(ctx, uri, Options{hook: hook})
			if dead() && !errors.Is(err, errKilled) || !dead() && err != nil {
				t.Fatalf("killed before operation %d, and prune said %v", after+1, err)
			}
			d, err := dataset.Open(ctx, uri, dataset.OpenOptions{})
			if err == nil {
				err = dataset.Verify(ctx, d)
			} else if manifest.PrunedIn(err) != nil {
				err = nil
			}
			if err != nil {
				t.Fatalf("after a kill before operation %d: %v", after+1, err)
			}
			for range 2 {
				check(t, pruneOnce(ctx, uri, Options{}))
				if left := keys(t, uri); len(left) != 1 || left[0] != manifest.FileName {
					t.Fatalf("after a kill before operation %d: %q", after+1, left)
				}
			}
			if !dead() {
				t.Logf("%d operations", after)
				return
			}
		}
	})
}

// Of a prune and a command that replaces the dataset at the same time, one wins,
// and the other says so.
func TestPruneRaces(t *testing.T) {
	places(t, func(t *testing.T, uri string) {
		write(t.Context(), t, uri, wideSpec(), Options{}, 3)
		f := surveyed(t, uri)
		write(t.Context(), t, uri, specOf(8), Options{Overwrite: true}, 2)
		if err := f.Prune(t.Context(), "x", time.Now()); !errors.Is(err, storage.ErrChanged) {
			t.Errorf("prune of a dataset that was replaced: %v", err)
		}
		if err := f.Clean(t.Context()); !errors.Is(err, storage.ErrChanged) {
			t.Errorf("clean: %v", err)
		}
		check(t, dataset.Verify(t.Context(), open(t, uri)))

		// The writer began first, and prune was faster.
		s := begun(t, uri, specOf(16), Options{Overwrite: true, partSize: 1})
		if f = surveyed(t, uri); len(f.Begun) == 0 || f.Active.IsZero() {
			t.Errorf("a writer is not seen: %+v", f)
		}
		check(t, f.Prune(t.Context(), "--keep-epochs 1", time.Now()))
		_, err := s.Commit(t.Context(), Outcome{})
		if exists := (*manifest.ExistsError)(nil); !errors.As(err, &exists) || !exists.Late {
			t.Errorf("the writer: %v", err)
		}
		check(t, s.Discard())
		check(t, pruneOnce(t.Context(), uri, Options{}))
		if left := keys(t, uri); len(left) != 1 {
			t.Errorf("%q is there", left)
		}
	})
}

// What a writer that makes a pruned dataset again has written stays.
func TestPruneSparesWhoMakesItAgain(t *testing.T) {
	places(t, func(t *testing.T, uri string) {
		write(t.Context(), t, uri, wideSpec(), Options{}, 3)
		check(t, pruneOnce(t.Context(), uri, Options{}))
		s := begun(t, uri, wideSpec(), Options{Overwrite: true, partSize: 1})
		check(t, pruneOnce(t.Context(), uri, Options{}))
		if _, err := s.Commit(t.Context(), Outcome{}); err != nil {
			t.Fatal(err)
		}
		check(t, dataset.Verify(t.Context(), open(t, uri)))
	})
}

func TestDamagedRestIsNamed(t *testing.T) {
	uri := memory(t)
	b, err := storage.Open(t.Context(), uri)
	check(t, err)
	for _, text := range []string{`{"format": "rollmill-pruned/2"}`, `{"format": "rollmill-pruned/2", "dataset": {"schema": "2.0"}, "pruned": 3}`} {
		check(t, b.Write(t.Context(), manifest.FileName, []byte(text)))
		_, err := dataset.Open(t.Context(), uri, dataset.OpenOptions{})
		if !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), manifest.FileName) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
