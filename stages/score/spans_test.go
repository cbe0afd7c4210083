package score_test

import (
	"fmt"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
)

// thin writes groups of three small trajectories, that came with rewards and of
// which some failed, in calls of some rows: a group may then lie in two row groups.
func thin(t testing.TB, uri string, groups, rows int) []formats.Trajectory {
	t.Helper()
	shard, err := shards.Begin(t.Context(), uri, manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories}, shards.Options{})
	if err != nil {
		t.Fatal(err)
	}
	table := shards.NewTable[formats.Trajectory](shard, "", -1)
	var all, out []formats.Trajectory
	for group := range randomtest.Trajectories(1,
		randomtest.Options{Groups: groups, Generations: 3, Messages: 3, SampledTokens: 4, PromptTokens: 4, NoTokens: true, Failures: 0.1, Scored: true}) {
		for i := range group {
			group[i].Error = group[i].FailureClass
		}
		all = append(all, group...)
	}
	for len(all) > 0 {
		n := min(rows, len(all))
		if err := table.Write(t.Context(), all[:n]); err != nil {
			t.Fatal(err)
		}
		out, all = append(out, all[:n]...), all[n:]
	}
	if _, err := shard.Commit(t.Context(), shards.Outcome{}); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestManyRowGroups: workers read row groups of the base in turn, and columns of
// these are copied; the scores are those of each row, in order, whatever the number
// of workers, and a group that lies in two row groups of the base lies in one of
// the scores.
func TestManyRowGroups(t *testing.T) {
	for _, each := range []int{3, 1000} {
		t.Run(fmt.Sprint(each), func(t *testing.T) {
			in := t.TempDir() + "/rollout"
			base := thin(t, in, 6000, each)
			digest := ""
			for _, workers := range []int{1, 2, 7} {
				out := fmt.Sprintf("%s/score-%d", t.TempDir(), workers)
				o := options(t, in, out, "even=expr:len(answer) % 2", "length*0.5=length:max=3,of=completion")
				o.Concurrency = workers
				report := run(t, o)
				if digest == "" {
					digest = report.RowsDigest
				}
				if report.RowsDigest != digest {
					t.Errorf("%d workers: other rows", workers)
				}
				scores, d := rows(t, out)
				compareScores(t, base, scores)
				wholeGroups(t, d, scores)
			}
		})
	}
}

func compareScores(t *testing.T, base []formats.Trajectory, scores []formats.Score) {
	t.Helper()
	if len(scores) != len(base) {
		t.Fatalf("%d scores of %d trajectories", len(scores), len(base))
	}
	for i, r := range base {
		s := &scores[i]
		if s.TrajectoryID != r.TrajectoryID || s.ExampleID != r.ExampleID || s.Epoch != r.Epoch || s.Generation != r.Generation || s.Status != r.Status {
			t.Fatalf("row %d is the score of %s, not of %s", i, s.TrajectoryID, r.TrajectoryID)
		}
		if r.Status == outcomes.StatusFailed || r.Status == outcomes.StatusSkipped {
			if s.Failure != outcomes.RewardTrajectory || s.Reward != nil || s.Error != "" {
				t.Fatalf("row %d: a trajectory that failed has the score %+v", i, s)
			}
			continue
		}
		even := float64(len([]rune(r.Answer)) % 2)
		if s.Reward == nil || len(s.Rewards) != 2 || *s.Rewards[0].Value != even || *s.Reward != even+0.5**s.Rewards[1].Value {
			t.Fatalf("row %d: the answer %q has the score %+v", i, r.Answer, s)
		}
	}
}

func wholeGroups(t *testing.T, d *dataset.Dataset, scores []formats.Score) {
	t.Helper()
	groups, first := 0, int64(0)
	for _, p := range d.PartsOf("") {
		for _, n := range p.RowGroups {
			if first > 0 && scores[first].ExampleID == scores[first-1].ExampleID {
				t.Errorf("a row group begins at row %d, within a group", first)
			}
			first += n
			groups++
		}
	}
	if groups < 3 {
		t.Errorf("only %d row groups", groups)
	}
}
