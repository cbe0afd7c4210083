package shards

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/runroot"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
)

func thinSpec(base *dataset.Dataset, from string) manifest.Spec {
	ref := base.Ref("base", from)
	return manifest.Spec{Stage: "score", Version: 1, Kind: schema.KindScores, Inputs: []manifest.Ref{ref}, Base: &ref}
}

func writeThin(t *testing.T, base *dataset.Dataset, uri string, of int) *dataset.Dataset {
	t.Helper()
	ctx := context.Background()
	for i := range of {
		s, err := Begin(ctx, uri, thinSpec(base, uri), Options{Shard: i, Of: of})
		if err != nil {
			t.Fatal(err)
		}
		r, err := base.Slice(ctx, i, of)
		if err != nil {
			t.Fatal(err)
		}
		w := NewTable[formats.Score](s, "", r.First)
		err = dataset.Groups(ctx, base, "", r, func(r *formats.Trajectory) string { return r.ExampleID }, func(first int64, rows []formats.Trajectory) error {
			var scores []formats.Score
			for _, r := range rows {
				scores = append(scores, formats.Score{TrajectoryID: r.TrajectoryID, ExampleID: r.ExampleID, Generation: r.Generation, Status: r.Status,
					Reward: r.Reward})
			}
			return w.Write(ctx, scores)
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Commit(ctx, Outcome{}); err != nil {
			t.Fatal(err)
		}
	}
	return open(t, uri)
}

func TestThinRowsAreAlignedWithTheirBase(t *testing.T) {
	ctx := context.Background()
	places(t, func(t *testing.T, root string) {
		for i := range 3 {
			write(ctx, t, storage.Join(root, "epoch-0", "rollout"), wideSpec(), Options{Shard: i, Of: 3}, 11)
		}
		base := open(t, storage.Join(root, "epoch-0", "rollout"))
		thin := writeThin(t, base, storage.Join(root, "epoch-0", "score"), 2)
		if thin.Base.URI != "../rollout" || thin.Rows != base.Rows {
			t.Errorf("base %q, %d rows", thin.Base.URI, thin.Rows)
		}
		back, err := thin.OpenBase(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if wide, err := back.OpenBase(ctx); err != nil || wide != back {
			t.Error("a wide dataset is its own base:", err)
		}
		if in, err := thin.OpenRef(ctx, thin.Inputs[0]); err != nil || in.Identity != base.Identity {
			t.Error(err)
		}
		wide, err := dataset.ReadAll[formats.Trajectory](ctx, back, "", back.All())
		if err != nil {
			t.Fatal(err)
		}
		at := int64(0)
		for _, p := range thin.Parts {
			scores, err := dataset.ReadAll[formats.Score](ctx, thin, "", dataset.Range{First: at, Rows: p.Rows})
			if err != nil {
				t.Fatal(err)
			}
			for i, s := range scores {
				if s.TrajectoryID != wide[*p.BaseFirst+int64(i)].TrajectoryID {
					t.Fatalf("row %d of %s stands beside another row", i, p.Name)
				}
			}
			at += p.Rows
		}
	})
}

func TestChangedBaseIsRefused(t *testing.T) {
	ctx := context.Background()
	places(t, func(t *testing.T, root string) {
		wide, thin := storage.Join(root, "rollout"), storage.Join(root, "score")
		write(ctx, t, wide, wideSpec(), Options{}, 5)
		d := writeThin(t, open(t, wide), thin, 1)

		spec := wideSpec()
		spec.Params = map[string]any{"generations": 5}
		write(ctx, t, wide, spec, Options{Overwrite: true}, 5)
		_, err := d.OpenBase(ctx)
		invalid(t, err, "score", "rollout", "changed")
		_, err = d.OpenRef(ctx, d.Inputs[0])
		invalid(t, err, "changed")

		b, err := storage.Open(ctx, wide)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range keys(t, wide) {
			if err := b.Delete(ctx, k); err != nil {
				t.Fatal(err)
			}
		}
		_, err = d.OpenBase(ctx)
		invalid(t, err, "score", "rollout", "gone")
	})
}

func TestMovedRootKeepsItsBase(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	write(ctx, t, filepath.Join(dir, "run", "rollout"), wideSpec(), Options{}, 5)
	writeThin(t, open(t, filepath.Join(dir, "run", "rollout")), filepath.Join(dir, "run", "score"), 1)
	if err := os.Rename(filepath.Join(dir, "run"), filepath.Join(dir, "archive")); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, filepath.Join(dir, "archive", "score")).OpenBase(ctx); err != nil {
		t.Error(err)
	}
}

func TestRefs(t *testing.T) {
	for _, c := range []struct{ from, to, ref string }{
		{"runs/a/epoch-0/score", "runs/a/epoch-0/rollout", "../rollout"},
		{"/data/a/epoch-1/curate", "/data/a/epoch-0/curate", "../../epoch-0/curate"},
		{"file:///data/a/score", "/data/a/rollout", "../rollout"},
		{"/data/a", "/mnt/b", "/mnt/b"},
		{"s3://key:secret@bucket/a/score", "s3://key:secret@bucket/a/rollout", "../rollout"},
		{"s3://other/a/score", "s3://key:secret@bucket/a/rollout", "s3://bucket/a/rollout"},
		{"mem://x/score?y=1", "mem://x/rollout?y=1", "../rollout"},
		{"/data/a", "s3://bucket/a", "s3://bucket/a"},
	} {
		d := &dataset.Dataset{Address: c.to}
		ref := d.Ref("base", c.from).URI
		if ref != c.ref {
			t.Errorf("%s from %s: %q, not %q", c.to, c.from, ref, c.ref)
		}
	}
	for _, c := range []struct{ uri, ref, to string }{
		{"/data/a/score", "../rollout", "/data/a/rollout"},
		{"mem://x/a/score?y=1", "../rollout", "mem://x/a/rollout?y=1"},
		{"s3://key:secret@bucket/a/score?region=r", "../rollout", "s3://key:secret@bucket/a/rollout?region=r"},
		{"/data/a/score", "s3://bucket/a", "s3://bucket/a"},
		{"file:///data/a/score", "../rollout", "/data/a/rollout"},
	} {
		if got := runroot.Resolve(c.uri, c.ref); got != c.to {
			t.Errorf("%s from %s: %q, not %q", c.ref, c.uri, got, c.to)
		}
	}
}

// A file URI may be percent-encoded where a path is not.
func TestRefsOfFileURIs(t *testing.T) {
	for _, c := range [][3]string{
		{"file:///data/my%20run/group", "/data/my run/score", "../score"},
		{"/data/my run/group", "file:///data/my%20run/score", "../score"},
		{"file://localhost/data/group", "file:///data/score?create_dir=1", "../score"},
	} {
		if got := runroot.Relative(c[0], c[1]); got != c[2] {
			t.Errorf("from %q to %q: %q, not %q", c[0], c[1], got, c[2])
		}
	}
}
