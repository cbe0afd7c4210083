package joined

import (
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
)

// write makes a dataset of groups in memory.
func write[T any](t *testing.T, uri string, spec manifest.Spec, groups ...[]T) *dataset.Dataset {
	t.Helper()
	spec.Version = 1
	shard, err := shards.Begin(t.Context(), uri, spec, shards.Options{})
	if err != nil {
		t.Fatal(err)
	}
	table := shards.NewTable[T](shard, "", -1)
	for _, rows := range groups {
		if err := table.Write(t.Context(), rows); err != nil {
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

// TestEach joins ranges of a score dataset with its base, and refuses a score that
// is about another trajectory.
func TestEach(t *testing.T) {
	var rows []formats.Trajectory
	for group := range randomtest.Trajectories(1, randomtest.Options{Groups: 5, SampledTokens: 20, PromptTokens: 20}) {
		rows = append(rows, group...)
	}
	base := write(t, "mem://joined/base", manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories}, rows)
	scores := make([]formats.Score, len(rows))
	for i := range rows {
		reward := float64(i)
		scores[i] = formats.Score{TrajectoryID: rows[i].TrajectoryID, ExampleID: rows[i].ExampleID, Status: rows[i].Status, Reward: &reward}
	}
	open := func(uri string) *Source {
		ref := base.Ref("base", uri)
		s, err := Of(t.Context(), write(t, uri, manifest.Spec{Stage: "score", Kind: schema.KindScores, Inputs: []manifest.Ref{ref}, Base: &ref}, scores))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open("mem://joined/score")
	for _, part := range []Part{Whole, Head} {
		at := 7
		for row, err := range s.Each(t.Context(), dataset.Range{First: 7, Rows: 23}, part) {
			if err != nil || row.TrajectoryID != rows[at].TrajectoryID || *row.Reward != float64(at) || (len(row.Messages) > 0) != bool(part) {
				t.Fatalf("row %d: %+v, %v", at, row, err)
			}
			at++
		}
		if at != 30 {
			t.Errorf("it ended at row %d", at)
		}
	}
	scores[9].TrajectoryID = "another"
	var failed error
	for _, err := range open("mem://joined/wrong").Each(t.Context(), dataset.Range{First: 8, Rows: 4}, Head) {
		failed = err
	}
	if failed == nil || !strings.Contains(failed.Error(), "another") || !strings.Contains(failed.Error(), "row 9") {
		t.Errorf("%v", failed)
	}
}
