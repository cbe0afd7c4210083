package main

import (
	"path/filepath"
	"reflect"
	"testing"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/datasettest"
)

// TestNewerSchemaThroughEpoch runs the stages on a dataset with columns that this
// version does not know. Curate keeps their values; rewards that it adds have null.
func TestNewerSchemaThroughEpoch(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if _, err := datasettest.Newer(t.Context(), at("rollout"), 6); err != nil {
		t.Fatal(err)
	}
	inProcess(t, "audit", "--in", at("rollout"))
	inProcess(t, "score", "--in", at("rollout"), "--out", at("score"), "--reward", "long=expr:len(answer) % 7 / 7.0")
	inProcess(t, "group", "--in", at("score"), "--out", at("group"))
	inProcess(t, "curate", "--in", at("group"), "--out", at("curate"), "--keep-flat", "--sample-trajectories", "0.7")
	inProcess(t, "audit", "--in", at("curate"))
	inProcess(t, "submit", "--in", at("curate"), "--backend", "file", "--kinds", "trl-sft", "--out", at("files"))
	before := map[string]datasettest.Trajectory{}
	for _, row := range newerRows(t, at("rollout")) {
		before[row.TrajectoryID] = row
	}
	kept := newerRows(t, at("curate"))
	if len(kept) == 0 || len(kept) == len(before) {
		t.Fatalf("%d of %d rows were kept", len(kept), len(before))
	}
	for _, row := range kept {
		was := before[row.TrajectoryID]
		if len(row.Rewards) != 1 || row.Rewards[0].Unit != "" || row.Reward == nil {
			t.Errorf("trajectory %s has the rewards %+v", row.TrajectoryID, row.Rewards)
		}
		was.Reward, was.Rewards, was.ShapedRewards, was.GroupID, was.Advantage = row.Reward, row.Rewards, row.ShapedRewards, row.GroupID, row.Advantage
		if !reflect.DeepEqual(row, was) {
			t.Errorf("trajectory %s is\n%+v, was\n%+v", row.TrajectoryID, row, was)
		}
	}
}

func newerRows(t *testing.T, uri string) []datasettest.Trajectory {
	t.Helper()
	d := verified(t, uri)
	rows, err := dataset.ReadAll[datasettest.Trajectory](t.Context(), d, "", d.All())
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
