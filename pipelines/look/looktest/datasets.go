// Package looktest writes the datasets that tests of the packages beside it look at.
package looktest

import (
	"slices"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
)

// Write writes a dataset and opens it.
func Write[T any](t *testing.T, uri string, spec manifest.Spec, groups [][]T, base int64) *dataset.Dataset {
	t.Helper()
	shard, err := shards.Begin(t.Context(), uri, spec, shards.Options{})
	if err != nil {
		t.Fatal(err)
	}
	table := shards.NewTable[T](shard, "", base)
	for _, g := range groups {
		if err := table.Write(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := shard.Commit(t.Context(), shards.Outcome{}); err != nil {
		t.Fatal(err)
	}
	d, err := dataset.Open(t.Context(), uri, dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// ScoredRun writes a rollout and its scores.
func ScoredRun(t *testing.T, root string, o randomtest.Options, change func(*formats.Trajectory, *formats.Score)) (rollout, score *dataset.Dataset) {
	t.Helper()
	rows, scores := slices.Collect(randomtest.Trajectories(1, o)), slices.Collect(randomtest.Scores(1, o))
	for g := range rows {
		for i := range rows[g] {
			change(&rows[g][i], &scores[g][i])
		}
	}
	rollout = Write(t, storage.Join(root, "rollout"), manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories}, rows, -1)
	ref := rollout.Ref("base", storage.Join(root, "score"))
	spec := manifest.Spec{Stage: "score", Kind: schema.KindScores, Inputs: []manifest.Ref{ref}, Base: &ref}
	return rollout, Write(t, storage.Join(root, "score"), spec, scores, 0)
}
