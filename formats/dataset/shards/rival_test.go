package shards

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/storage/fault"
)

func TestOverwrite(t *testing.T) {
	ctx := context.Background()
	places(t, func(t *testing.T, uri string) {
		write(ctx, t, uri, wideSpec(), Options{}, 3)
		old := open(t, uri)
		spec := wideSpec()
		spec.Params = map[string]any{"generations": 8, "agent": "chat"}
		_, err := Begin(ctx, uri, spec, Options{})
		var exists *manifest.ExistsError
		if !errors.As(err, &exists) || !exists.Sealed || exists.Old != old.Identity || exists.New != spec.Identity() {
			t.Fatalf("another identity: %v", err)
		}
		for _, says := range []string{"generations was 4, is 8", `agent was not there, is "chat"`} {
			if !strings.Contains(err.Error(), says) {
				t.Errorf("%q does not say %q", err, says)
			}
		}
		if !strings.Contains(fault.HintOf(exists), "--overwrite") {
			t.Error(fault.HintOf(exists))
		}
		write(ctx, t, uri, spec, Options{Shard: 0, Of: 2, Overwrite: true}, 6)
		if got := open(t, uri); got.Identity != old.Identity {
			t.Error("the old dataset is gone before the new one is sealed")
		}
		write(ctx, t, uri, spec, Options{Shard: 1, Of: 2, Overwrite: true}, 6)
		d := open(t, uri)
		if d.Identity != spec.Identity() || d.Rows != 24 {
			t.Fatalf("after overwriting: %+v", d.Manifest)
		}
		for _, k := range keys(t, uri) {
			if strings.Contains(k, old.Identity) || k == old.Parts[0].Name {
				t.Errorf("%q is left of the old dataset", k)
			}
		}
		if err := dataset.Verify(ctx, d); err != nil {
			t.Error(err)
		}
	})
}

// Digests say nothing to a reader, so a file's difference is named without them.
func TestFilesThatDiffer(t *testing.T) {
	old := &manifest.Manifest{}
	old.Files = map[string]string{"agent.py": "1", "gone.txt": "2", "same.txt": "3"}
	now := manifest.Spec{Files: map[string]string{"agent.py": "4", "new.txt": "5", "same.txt": "3"}}
	want := "file agent.py was changed; file gone.txt is no longer part of it; file new.txt was not part of it"
	if got := strings.Join(manifest.Differences(old, now), "; "); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestUnsealedShardsOfAnotherIdentity(t *testing.T) {
	ctx := context.Background()
	places(t, func(t *testing.T, uri string) {
		write(ctx, t, uri, wideSpec(), Options{Shard: 0, Of: 2}, 3)
		spec := wideSpec()
		spec.Params = map[string]any{"generations": 8}
		_, err := Begin(ctx, uri, spec, Options{})
		var exists *manifest.ExistsError
		if !errors.As(err, &exists) || exists.Sealed || !strings.Contains(err.Error(), "generations was 4, is 8") {
			t.Fatalf("shards of another identity: %v", err)
		}
		write(ctx, t, uri, spec, Options{Overwrite: true}, 3)
		if d := open(t, uri); d.Identity != spec.Identity() {
			t.Fatal("not overwritten")
		}
	})
}

// Of two datasets begun at one URI without overwriting, the first wins.
func TestTwoIdentitiesAtOnce(t *testing.T) {
	ctx := context.Background()
	places(t, func(t *testing.T, uri string) {
		spec := wideSpec()
		spec.Params = map[string]any{"generations": 8}
		s, err := Begin(ctx, uri, spec, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := NewTable[formats.Trajectory](s, "", -1).Write(ctx, group(0, 8)); err != nil {
			t.Fatal(err)
		}
		write(ctx, t, uri, wideSpec(), Options{}, 3)
		var exists *manifest.ExistsError
		if _, err := s.Commit(ctx, Outcome{}); !errors.As(err, &exists) {
			t.Errorf("the second commit: %v", err)
		}
		if d := open(t, uri); d.Identity != wideSpec().Identity() {
			t.Error("the second replaced the first")
		}
		if err := dataset.Verify(ctx, open(t, uri)); err != nil {
			t.Error(err)
		}
	})
}

// The same dataset in another number of shards counts as the same dataset.
func TestAnotherNumberOfShards(t *testing.T) {
	ctx := context.Background()
	places(t, func(t *testing.T, uri string) {
		late, err := Begin(ctx, uri, wideSpec(), Options{Shard: 0, Of: 3})
		if err != nil {
			t.Fatal(err)
		}
		w := NewTable[formats.Trajectory](late, "", -1)
		if err := w.Write(ctx, group(0, 4)); err != nil {
			t.Fatal(err)
		}
		write(ctx, t, uri, wideSpec(), Options{}, 3)
		res := write(ctx, t, uri, wideSpec(), Options{Shard: 4, Of: 5}, 3)
		if !res.UpToDate || res.Sealed == nil || res.Sealed.Shards != 1 {
			t.Fatalf("%+v", res)
		}
		if res, err := late.Commit(ctx, Outcome{}); err != nil || !res.UpToDate {
			t.Fatalf("%+v, %v", res, err)
		}
		for _, k := range keys(t, uri) {
			if strings.Contains(k, "-of-00003-") || strings.Contains(k, "-3/") {
				t.Errorf("%q is left", k)
			}
		}
	})
}
