package systemtest

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
)

// TestCompactKilledAtRandom kills compact at random moments while prune, without a
// grace for what readers may need, cleans the run, and a reader that began before
// compares the rows with the manifest. The dataset is the old one or the new one,
// and the next compact and prune leave what undisturbed ones leave.
func TestCompactKilledAtRandom(t *testing.T) {
	inStores(t, func(t *testing.T, at func(string) string) {
		dice := rand.New(rand.NewPCG(12, 12))
		var took time.Duration
		kills := 0
		for trial := range trials() + 1 {
			root := at(fmt.Sprint("compact-", trial))
			uri := storage.Join(root, "epoch-0/rollout")
			before := inShards(t, uri, 12)
			words, clean := []string{"compact", uri, "--quiet"}, []string{"prune", "--root", root, "--grace", "0s", "--apply"}
			if trial == 0 {
				began := time.Now()
				finish(t, words)
				took = time.Since(began)
			} else {
				killed, err := killedAtRandom(t, dice, took, words, before)
				if killed {
					kills++
				}
				if err != nil {
					t.Errorf("trial %d: the reader: %v", trial, err)
				}
				finish(t, []string{"seal", "--in", uri})
				if err := readAll(t, before); err != nil {
					t.Errorf("trial %d: the reader, after a seal: %v", trial, err)
				}
				racing := exec.Command("rollmill", clean...)
				if err := racing.Start(); err != nil {
					t.Fatal(err)
				}
				finish(t, words)
				if err := racing.Wait(); err != nil {
					t.Error("prune beside compact:", err)
				}
			}
			finish(t, clean)
			after := onlyItsParts(t, uri)
			if !after.Is(ref(before)) || after.Compacted == nil || len(after.PartsOf("")) != 1 {
				t.Errorf("trial %d: %d parts", trial, len(after.PartsOf("")))
			}
		}
		t.Logf("%d trials, %d kills", trials(), kills)
	})
}

func ref(d *dataset.Dataset) *manifest.Ref {
	r := d.Ref("base", d.URI())
	return &r
}

// inShards writes a dataset of random rows, a few in each shard.
func inShards(t *testing.T, uri string, of int) *dataset.Dataset {
	t.Helper()
	var sealed *dataset.Dataset
	for i := range of {
		s, err := shards.Begin(t.Context(), uri, manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories}, shards.Options{Shard: i, Of: of})
		if err != nil {
			t.Fatal(err)
		}
		w := shards.NewTable[formats.Trajectory](s, "", -1)
		for g := range 4 {
			if err := w.Write(t.Context(),
				randomtest.Group(5, i*4+g, randomtest.Options{Generations: 4, SampledTokens: 40, PromptTokens: 40, Messages: 3})); err != nil {
				t.Fatal(err)
			}
		}
		res, err := s.Commit(t.Context(), shards.Outcome{})
		if err != nil {
			t.Fatal(err)
		}
		sealed = res.Sealed
	}
	return sealed
}

// onlyItsParts checks a dataset that was compacted and cleaned: nothing but the
// parts of the compaction is there.
func onlyItsParts(t *testing.T, uri string) *dataset.Dataset {
	t.Helper()
	d := checkSound(t, uri)
	b, err := storage.Open(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	parts := 0
	for _, err := range b.List(t.Context(), "part-") {
		if err != nil {
			t.Fatal(err)
		}
		parts++
	}
	if parts != len(d.PartsOf("")) {
		t.Errorf("%d files are there for %d parts", parts, len(d.PartsOf("")))
	}
	return d
}
