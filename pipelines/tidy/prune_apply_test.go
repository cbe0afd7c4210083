package tidy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/s3test"
)

func TestApply(t *testing.T) {
	stores(t, func(t *testing.T, root string) {
		line(t, root)
		put(t, root, "epoch-3/rollout/part-00000-of-00001-00077-0123abcd.parquet", "left by a killed writer")
		before := keysUnder(t, root)
		o := PruneOptions{Root: root, KeepEpochs: 1, Drop: []string{"rollout"}, later: later}
		p, err := Look(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		files, bytes := p.Files, p.Bytes
		if err := p.Apply(t.Context()); err != nil || p.Files != files || p.Bytes != bytes || files != 2*5+1 || !p.Applied {
			t.Errorf("%v: %d files of %d, %d bytes of %d", err, p.Files, files, p.Bytes, bytes)
		}
		var gone []string
		after := keysUnder(t, root)
		for _, key := range before {
			if !slices.Contains(after, key) {
				gone = append(gone, key)
			}
		}
		if len(gone) != files || slices.ContainsFunc(gone, func(key string) bool {
			return !strings.Contains(key, "rollout/") || strings.HasSuffix(key, manifest.FileName) ||
				strings.HasPrefix(key, "epoch-3/") && !strings.Contains(key, "-00077-")
		}) {
			t.Errorf("%q is gone", gone)
		}
		for _, key := range []string{"epoch-0/rollout", "epoch-0/extended/rollout", "epoch-0/validation/rollout"} {
			if _, err := dataset.Open(t.Context(), storage.Join(root, key), dataset.OpenOptions{}); manifest.PrunedIn(err) == nil ||
				manifest.PrunedIn(err).Rule != "--keep-epochs 1" {
				t.Errorf("%s: %v", key, err)
			}
		}
		again, err := Look(t.Context(), o)
		if err != nil || again.Files != 0 || len(again.Removed)+len(again.Kept)+len(again.Problems) != 0 {
			t.Errorf("again: %+v, %v", again, err)
		}
	})
}

func TestKilledAnywhere(t *testing.T) {
	stores(t, func(t *testing.T, root string) {
		at := func(name string) string { return storage.Join(root, name) }
		prepare := func(root string) PruneOptions {
			epoch(t, root, "epoch-0", 0)
			epoch(t, root, "epoch-1", 1)
			put(t, root, "epoch-0/score/part-00000-of-00001-00077-0123abcd.parquet", "left")
			return PruneOptions{Root: root, KeepEpochs: 1, Drop: []string{"rollout", "score"}, later: later}
		}
		apply := func(ctx context.Context, o PruneOptions) error {
			p, err := Look(ctx, o)
			if err == nil {
				err = p.Apply(ctx)
			}
			return err
		}
		if err := apply(t.Context(), prepare(at("calm"))); err != nil {
			t.Fatal(err)
		}
		want := keysUnder(t, at("calm"))
		step := 5
		if strings.HasPrefix(root, "mem:") || os.Getenv("COUNT") != "" {
			step = 1
		}
		for after := 0; ; after += step {
			o := prepare(at(fmt.Sprint("killed-", after)))
			var operations, failed atomic.Int64
			dead := func(op, _ string) error {
				if op == "published" || operations.Add(1) <= int64(after) {
					return nil
				}
				failed.Add(1)
				return errors.New("killed")
			}
			err := apply(storage.Wrapping(t.Context(), func(b *storage.Bucket) *storage.Bucket { return b.WithHook(dead) }), o)
			if (err != nil) != (failed.Load() > 0) {
				t.Fatalf("after %d operations: %v", after, err)
			}
			for _, key := range []string{"epoch-0/rollout", "epoch-0/score", "epoch-0/group", "epoch-1/rollout"} {
				d, err := dataset.Open(t.Context(), storage.Join(o.Root, key), dataset.OpenOptions{})
				if err == nil {
					err = dataset.Verify(t.Context(), d)
				} else if strings.HasPrefix(key, "epoch-0") && manifest.PrunedIn(err) != nil {
					err = nil
				}
				if err != nil {
					t.Fatalf("after %d operations: %v", after, err)
				}
			}
			if err := apply(t.Context(), o); err != nil {
				t.Fatalf("after %d operations, again: %v", after, err)
			}
			if diff := cmp.Diff(want, keysUnder(t, o.Root)); diff != "" {
				t.Fatalf("after %d operations:\n%s", after, diff)
			}
			if failed.Load() == 0 {
				t.Logf("%d operations", after)
				return
			}
		}
	})
}

func TestReplacedMeanwhile(t *testing.T) {
	stores(t, func(t *testing.T, root string) {
		epoch(t, root, "epoch-0", 0)
		epoch(t, root, "epoch-1", 1)
		p, err := Look(t.Context(), PruneOptions{Root: root, KeepEpochs: 1, Drop: []string{"rollout"}, later: later})
		if err != nil || len(p.Removed) != 1 {
			t.Fatal(p, err)
		}
		uri := storage.Join(root, "epoch-0/rollout")
		s, err := shards.Begin(t.Context(), uri, manifest.Spec{Stage: "rollout", Version: 2, Kind: schema.KindTrajectories}, shards.Options{Overwrite: true})
		if err != nil {
			t.Fatal(err)
		}
		shards.NewTable[formats.Trajectory](s, "", -1)
		if _, err := s.Commit(t.Context(), shards.Outcome{}); err != nil {
			t.Fatal(err)
		}
		if err := p.Apply(t.Context()); err != nil || len(p.Removed) != 0 || p.Files != 0 || len(p.Kept) != 1 {
			t.Errorf("%v: %+v", err, p)
		}
		if _, err := dataset.Open(t.Context(), uri, dataset.OpenOptions{}); err != nil {
			t.Error(err)
		}
	})
}

func TestGrace(t *testing.T) {
	root := t.TempDir()
	epoch(t, root, "epoch-0", 0)
	left := "epoch-0/rollout/part-00000-of-00001-00077-0123abcd.parquet"
	temp := filepath.Join(root, "epoch-0", "rollout", ".tmp-0123")
	put(t, root, left, "x")
	if err := os.WriteFile(temp, []byte("half a part"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		grace time.Duration
		want  int
	}{{2 * time.Hour, 0}, {time.Minute, 2}} {
		grace, want := c.grace, c.want
		p, err := Look(t.Context(), PruneOptions{Root: root, Grace: grace, later: later})
		if err != nil || p.Files != want {
			t.Errorf("grace %v: %+v, %v", grace, p, err)
		}
		if err := p.Apply(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, err = os.Stat(temp)
		if gone := errors.Is(err, os.ErrNotExist); gone != (want > 0) || gone == slices.Contains(keysUnder(t, root), left) {
			t.Errorf("grace %v: the temporary file is gone: %v", grace, gone)
		}
	}
}

func TestTwoClocks(t *testing.T) {
	for _, ahead := range []time.Duration{-5 * time.Hour, 5 * time.Hour} {
		t.Run(ahead.String(), func(t *testing.T) {
			store := s3test.Start(t)
			store.SetFaults(s3test.Faults{Ahead: ahead})
			root := store.URI("runs/demo")
			epoch(t, root, "epoch-0", 0)
			put(t, root, "epoch-0/rollout/part-00000-of-00001-00077-0123abcd.parquet", "left")
			put(t, root, "epoch-0/score/.rollmill/0123456789abcdef-1/journal-0/0", "a rollout's")
			files := func(o PruneOptions) int {
				t.Helper()
				o.Root = root
				p, err := Look(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				return p.Files
			}
			if n := files(PruneOptions{Grace: time.Hour}); n != 0 {
				t.Errorf("%d fresh files would be removed within the grace", n)
			}
			store.SetFaults(s3test.Faults{Ahead: ahead + 2*time.Second}) // its times are whole seconds
			if n := files(PruneOptions{Force: true}); n != 1 {
				t.Errorf("%d files would be removed without a grace; the running command's must stay", n)
			}
			store.SetFaults(s3test.Faults{Ahead: ahead + 2*time.Hour})
			if n := files(PruneOptions{Grace: time.Hour, Force: true}); n != 2 {
				t.Errorf("%d old files would be removed", n)
			}
		})
	}
}
