package shards

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/seal"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

func keys(t *testing.T, uri string) []string {
	t.Helper()
	b, err := storage.Open(context.Background(), uri)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for o, err := range b.List(context.Background(), "") {
		if err != nil {
			t.Fatal(err)
		}
		if o.Key != ".rollmill/create-only" { // the store's, see storage.Bucket.Exclusive
			out = append(out, o.Key)
		}
	}
	return out
}

func open(t *testing.T, uri string) *dataset.Dataset {
	t.Helper()
	d, err := dataset.Open(context.Background(), uri, dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// invalid checks that an error is about bad input and contains all of these
// texts.
func invalid(t *testing.T, err error, says ...string) {
	t.Helper()
	if !errors.Is(err, fault.ErrInvalid) {
		t.Fatalf("not an input error: %v", err)
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%q does not say %q", err, s)
		}
	}
}

func TestTwoShardsGiveTheRowsOfOne(t *testing.T) {
	ctx := context.Background()
	places(t, func(t *testing.T, uri string) {
		one := write(ctx, t, sibling(uri, "-one"), wideSpec(), Options{}, 9)
		first := write(ctx, t, uri, wideSpec(), Options{Shard: 1, Of: 2}, 9)
		if first.Sealed != nil || !slices.Equal(first.Missing, []int{0}) || first.Rows != 16 {
			t.Fatalf("the first of two shards: %+v", first)
		}
		second := write(ctx, t, uri, wideSpec(), Options{Shard: 0, Of: 2}, 9)
		if second.Sealed == nil || second.Missing != nil {
			t.Fatalf("the last shard: %+v", second)
		}
		if a, b := one.Sealed.RowsDigest, second.Sealed.RowsDigest; a != b {
			t.Errorf("rows digests %s and %s", a, b)
		}
		if err := dataset.Verify(ctx, open(t, uri)); err != nil {
			t.Error(err)
		}
	})
}

// A requeued shard and its zombie both run to the end, one after the other.
func TestZombieChangesNothing(t *testing.T) {
	ctx := context.Background()
	places(t, func(t *testing.T, uri string) {
		zombie, err := Begin(ctx, uri, wideSpec(), Options{Shard: 0, Of: 2})
		if err != nil {
			t.Fatal(err)
		}
		w := NewTable[formats.Trajectory](zombie, "", -1)
		other := group(0, 4)
		other[0].Messages[1].Content = "sampled anew by the zombie"
		if err := w.Write(ctx, other); err != nil {
			t.Fatal(err)
		}
		write(ctx, t, uri, wideSpec(), Options{Shard: 0, Of: 2}, 9)
		write(ctx, t, uri, wideSpec(), Options{Shard: 1, Of: 2}, 9)
		before, manifest := keys(t, uri), open(t, uri).Manifest
		res, err := zombie.Commit(ctx, Outcome{})
		if err != nil || !res.UpToDate || res.Rows != 20 || res.Sealed == nil {
			t.Fatalf("the zombie's commit: %+v, %v", res, err)
		}
		if after := keys(t, uri); !slices.Equal(before, after) {
			t.Errorf("the zombie left %v where there was %v", after, before)
		}
		if got := open(t, uri).Manifest; got.RowsDigest != manifest.RowsDigest {
			t.Error("the zombie changed the rows")
		}
		if err := dataset.Verify(ctx, open(t, uri)); err != nil {
			t.Error(err)
		}
	})
}

// A zombie with exactly the same rows must not remove its replacement's parts.
func TestZombieWithTheSameRows(t *testing.T) {
	ctx := context.Background()
	places(t, func(t *testing.T, uri string) {
		zombie, err := Begin(ctx, uri, wideSpec(), Options{partSize: 1})
		if err != nil {
			t.Fatal(err)
		}
		w := NewTable[formats.Trajectory](zombie, "", -1)
		for e := range 3 { // a part each, published at once
			if err := w.Write(ctx, group(e, 4)); err != nil {
				t.Fatal(err)
			}
		}
		write(ctx, t, uri, wideSpec(), Options{partSize: 1}, 3)
		if err := zombie.Discard(); err != nil {
			t.Fatal(err)
		}
		if err := dataset.Verify(ctx, open(t, uri)); err != nil {
			t.Error(err)
		}
	})
}

func TestMissingShardsAreNamed(t *testing.T) {
	ctx := context.Background()
	places(t, func(t *testing.T, uri string) {
		_, err := dataset.Open(ctx, uri, dataset.OpenOptions{})
		if !errors.Is(err, storage.ErrNotExist) {
			t.Fatalf("nothing there: %v", err)
		}
		write(ctx, t, uri, wideSpec(), Options{Shard: 1, Of: 7}, 9)
		write(ctx, t, uri, wideSpec(), Options{Shard: 5, Of: 7}, 9)
		_, err = dataset.Open(ctx, uri, dataset.OpenOptions{})
		invalid(t, err, "shards 0, 2-4, 6 of 7 missing")
		_, err = seal.Dataset(ctx, uri)
		invalid(t, err, "shards 0, 2-4, 6 of 7 missing")
	})
}

// The records define the dataset: the first process that finds them all writes
// its manifest, and every process would write the same bytes.
func TestManifestIsAFunctionOfTheRecords(t *testing.T) {
	ctx := context.Background()
	places(t, func(t *testing.T, uri string) {
		for i := range 3 {
			write(ctx, t, uri, wideSpec(), Options{Shard: i, Of: 3}, 9)
		}
		b, err := storage.Open(ctx, uri)
		if err != nil {
			t.Fatal(err)
		}
		want, err := b.Read(ctx, manifest.FileName)
		if err != nil {
			t.Fatal(err)
		}
		for _, again := range []func() error{
			func() error { _, err := dataset.Open(ctx, uri, dataset.OpenOptions{}); return err },
			func() error { _, err := seal.Dataset(ctx, uri); return err },
			func() error { write(ctx, t, uri, wideSpec(), Options{Shard: 1, Of: 3}, 9); return nil },
		} {
			if err := b.Delete(ctx, manifest.FileName); err != nil {
				t.Fatal(err)
			}
			if err := again(); err != nil {
				t.Fatal(err)
			}
			got, err := b.Read(ctx, manifest.FileName)
			if err != nil || string(got) != string(want) {
				t.Fatalf("%v: manifest %s, not %s", err, got, want)
			}
		}
	})
}

func TestOptionsAreChecked(t *testing.T) {
	uri := memory(t) + "/d"
	for _, o := range []Options{{Shard: 1}, {Shard: -1, Of: 2}, {Shard: 2, Of: 2}, {Of: -1}} {
		if _, err := Begin(context.Background(), uri, wideSpec(), o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}

func TestShardEndsOnce(t *testing.T) {
	uri := memory(t) + "/d"
	ctx := context.Background()
	s, err := Begin(ctx, uri, wideSpec(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := NewTable[formats.Trajectory](s, "", -1)
	if NewTable[formats.Trajectory](s, "", -1).Write(ctx, group(0, 1)) == nil {
		t.Error("a table was opened twice")
	}
	if err := w.Write(ctx, group(0, 4)); err != nil {
		t.Fatal(err)
	}
	if err := s.Discard(); err != nil {
		t.Fatal(err)
	}
	if w.Write(ctx, group(0, 4)) == nil {
		t.Error("a discarded shard was written")
	}
	if _, err := s.Commit(ctx, Outcome{}); err == nil {
		t.Error("a discarded shard was committed")
	}
	if left := keys(t, uri); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	if s.build.Identity != wideSpec().Identity() {
		t.Error(s.build.Identity)
	}
}
