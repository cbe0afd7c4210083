package tidy

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/dataset/workspaces"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
)

// keeping writes a rollout with a workspace of which nothing was kept, and returns it.
func keeping(t *testing.T, uri string) *dataset.Dataset {
	t.Helper()
	ctx := t.Context()
	w := formats.Workspace{TrajectoryID: "t", Runtime: "podman", LeftOut: []string{"more than 100000 paths"}}
	s, err := shards.Begin(ctx, uri, manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories}, shards.Options{})
	if err == nil {
		err = errors.Join(
			shards.NewTable[formats.Trajectory](s, "", -1).Write(ctx, []formats.Trajectory{{TrajectoryID: "t", Status: "ok",
				Metadata: `{"` + workspaces.KeyName + `":"` + w.Key() + `"}`}}),
			shards.NewTable[formats.WorkspacePiece](s, schema.TableWorkspaces, -1).Write(ctx, []formats.WorkspacePiece{{Workspace: w}}))
	}
	if err == nil {
		_, err = s.Commit(ctx, shards.Outcome{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return open(t, uri)
}

func open(t *testing.T, uri string) *dataset.Dataset {
	t.Helper()
	d, err := dataset.Open(t.Context(), uri, dataset.OpenOptions{})
	if err == nil {
		err = errors.Join(dataset.Verify(t.Context(), d), workspaces.Check(t.Context(), d))
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Workspaces are removed alone: the rows, and what refers to them, stay, also when the process dies half-way.
func TestWorkspacesAreRemovedAlone(t *testing.T) {
	stores(t, func(t *testing.T, root string) {
		uri := storage.Join(root, "epoch-0/rollout")
		before := keeping(t, uri)
		o := PruneOptions{Root: root, later: later}
		if p, err := Look(t.Context(), o); err != nil || p.Files != 0 {
			t.Errorf("without --workspaces: %+v, %v", p, err)
		}
		o.Workspaces = true
		p, err := Look(t.Context(), o)
		if err != nil || p.Files != 1 || p.Bytes != before.PartsOf(schema.TableWorkspaces)[0].Bytes || p.Removed[0].What != whatSpaces {
			t.Fatalf("%+v, %v", p, err)
		}
		if err := p.Apply(t.Context()); err != nil || p.Files != 1 {
			t.Fatal(p, err)
		}
		d := open(t, uri)
		if d.Fingerprint() != before.Fingerprint() || d.RowsDigest != before.RowsDigest || !d.Removed(schema.TableWorkspaces) {
			t.Error("it is another dataset")
		}
		for _, key := range keysUnder(t, root) {
			if strings.Contains(key, schema.TableWorkspaces) {
				t.Errorf("%s is there", key)
			}
		}
		if _, err := workspaces.Open(t.Context(), d); err == nil || !strings.Contains(err.Error(), "was removed by prune") {
			t.Error(err)
		}
		if again, err := Look(t.Context(), o); err != nil || again.Files != 0 {
			t.Errorf("again: %+v, %v", again, err)
		}
		killed := storage.Join(root, "epoch-1/rollout")
		keeping(t, killed)
		p, err = Look(t.Context(), o)
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if err != nil || p.Apply(ctx) == nil {
			t.Error(err, "an ended context removes")
		}
		open(t, killed)
	})
}
