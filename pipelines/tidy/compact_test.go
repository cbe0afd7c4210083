package tidy

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/datasettest"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/countingtest"
)

// sharded writes random trajectories in shards.
func sharded(t *testing.T, uri string, of int) *dataset.Dataset {
	t.Helper()
	var sealed *dataset.Dataset
	for i := range of {
		s, err := shards.Begin(t.Context(), uri, manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories}, shards.Options{Shard: i, Of: of})
		if err != nil {
			t.Fatal(err)
		}
		if err := shards.NewTable[formats.Trajectory](s, "", -1).
			Write(t.Context(), randomtest.Group(2, i, randomtest.Options{Generations: 2, Messages: 3})); err != nil {
			t.Fatal(err)
		}
		res, err := s.Commit(t.Context(), shards.Outcome{})
		if err != nil {
			t.Fatal(err)
		}
		sealed = res.Sealed
	}
	return sealed
}

func compacted(ctx context.Context, t *testing.T, uri string, o CompactOptions) *Outcome {
	t.Helper()
	out, err := Compact(ctx, uri, o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestOutcomeSaysWhatWasDone(t *testing.T) {
	uri := "mem://" + t.Name()
	old := sharded(t, uri, 5)
	for _, step := range []struct {
		dry     bool
		after   int
		applied bool
		says    []string
	}{
		{true, 5, false, []string{"in 5 parts would become about 1 part", "nothing was changed: --dry-run"}},
		{false, 1, true, []string{"in 5 parts became ", "in 1 part", "the old parts stay for those who read them"}},
		{false, 1, true, []string{"nothing to do"}},
		{true, 1, false, []string{"nothing to do"}},
	} {
		out := compacted(t.Context(), t, uri, CompactOptions{PartSize: 1e6, DryRun: step.dry})
		d, err := dataset.Open(t.Context(), uri, dataset.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(d.PartsOf("")); n != step.after || out.Applied != step.applied || out.Identity != old.Identity {
			t.Errorf("%d parts: %+v", n, out)
		}
		for _, want := range step.says {
			if text := strings.Join(out.Lines(), "\n"); !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
		if len(out.Tables) == 1 && out.Tables[0].Bytes != old.Bytes {
			t.Errorf("%+v of %d bytes", out.Tables, old.Bytes)
		}
	}
}

// A dry run reads the manifest and nothing else, and a second compaction neither.
func TestLookingIsCheap(t *testing.T) {
	uri := "mem://" + t.Name()
	sharded(t, uri, 5)
	for _, dry := range []bool{true, false} {
		if !dry {
			compacted(t.Context(), t, uri, CompactOptions{PartSize: 1e6})
		}
		var n countingtest.Counter
		compacted(storage.Wrapping(t.Context(), n.Wrap), t, uri, CompactOptions{PartSize: 1e6, DryRun: dry})
		if reads, lists := n.Ops("read"), n.Ops("list"); reads != 1 || lists != 0 {
			t.Errorf("%d reads, %d lists", reads, lists)
		}
	}
}

// Datasets that this version cannot write again without a loss are refused, and
// stay as they are.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	if _, err := datasettest.Newer(t.Context(), filepath.Join(dir, "newer"), 5); err != nil {
		t.Fatal(err)
	}
	for uri, want := range map[string]string{"newer": "it has schema " + datasettest.Schema, "nothing": "nothing"} {
		before, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
		_, err := Compact(t.Context(), filepath.Join(dir, uri), CompactOptions{PartSize: 1e6})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", uri, err)
		}
		if after, _ := filepath.Glob(filepath.Join(dir, "*", "*")); !slices.Equal(before, after) {
			t.Errorf("%s: %q, then %q", uri, before, after)
		}
	}
}
