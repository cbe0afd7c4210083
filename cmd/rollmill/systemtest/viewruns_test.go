package systemtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/run"
)

// storeRollout writes groups of trajectories as rollout does.
func storeRollout(ctx context.Context, uri string, epoch int, groups func(yield func([]formats.Trajectory) bool)) error {
	one := 1.0
	shard, err := shards.Begin(ctx, uri, manifest.Spec{Stage: "rollout", Version: 1, Kind: schema.KindTrajectories,
		Params: map[string]any{"run": "view", "epoch": epoch},
		Gates:  []manifest.Gate{{Name: "max-failure-rate", Count: outcomes.StatusFailed, Of: "rows", Max: &one}}}, shards.Options{})
	if err != nil {
		return err
	}
	table := shards.NewTable[formats.Trajectory](shard, "", -1)
	counts, failures := map[string]int64{}, map[string]int64{}
	for group := range groups {
		for i := range group {
			counts[group[i].Status]++
			if class := group[i].FailureClass; class != "" {
				failures[class]++
			}
		}
		if err := table.Write(ctx, group); err != nil {
			return err
		}
	}
	_, err = shard.Commit(ctx, shards.Outcome{Counts: counts, Failures: failures})
	return err
}

// storeEpoch writes an epoch's rollouts, and lets the stages score, group and
// curate them.
func storeEpoch(t *testing.T, root string, epoch int, groups func(yield func([]formats.Trajectory) bool)) error {
	t.Helper()
	if err := storeGroups(t, root, epoch, groups); err != nil {
		return err
	}
	return runStage(t, root, epoch, "curate", viewFilter...)
}

func storeGroups(t *testing.T, root string, epoch int, groups func(yield func([]formats.Trajectory) bool)) error {
	t.Helper()
	if err := storeRollout(t.Context(), run.Layout{Root: root}.Stage(epoch, "rollout"), epoch, groups); err != nil {
		return err
	}
	if err := runStage(t, root, epoch, "score", "--reward", "long*0.5=expr:min(len(answer), 400) / 400", "--reward",
		"odd*0.5=expr:generation % 2"); err != nil {
		return err
	}
	return runStage(t, root, epoch, "group")
}

// viewFilter drops some members of each group.
var viewFilter = []string{"--filter", "trajectory.generation < 6"}

func runStage(t *testing.T, root string, epoch int, stage string, args ...string) error {
	t.Helper()
	if code, _, stderr := rollmill(t, append([]string{stage, "--root", root, "--epoch", strconv.Itoa(epoch), "--quiet"}, args...)...); code != 0 {
		return fmt.Errorf("epoch %d, %s: exit code %d:\n%s", epoch, stage, code, stderr)
	}
	return nil
}

// tiny are rows of a few words without tokens: figures about many rows depend on
// their number, not on their size.
var tiny = randomtest.Options{Generations: 10, Messages: 3, SampledTokens: 4, PromptTokens: 4, NoTokens: true, Failures: 0.05}

// storeEpochs makes a run of many epochs of tiny trajectories, a tenth of that
// number in groups, with the history files of report.
func storeEpochs(t *testing.T, root string, epochs, trajectories int) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(root, "report.json")); err == nil {
		return // kept by an earlier run of this test
	}
	var all errgroup.Group
	all.SetLimit(2)
	for e := range epochs {
		all.Go(func() error {
			o := tiny
			o.Run, o.Epoch, o.Groups = "view", e, max(1, trajectories/epochs/o.Generations)
			return storeGroups(t, root, e, randomtest.Trajectories(int64(e), o))
		})
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	for e := range epochs { // in order: each reads the state of the one before
		if err := runStage(t, root, e, "curate", viewFilter...); err != nil {
			t.Fatal(err)
		}
	}
	if code, _, stderr := rollmill(t, "report", "--root", root, "--quiet"); code != 0 {
		t.Fatalf("report: exit code %d:\n%s", code, stderr)
	}
}
