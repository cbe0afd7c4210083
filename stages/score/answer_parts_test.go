package score_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/score"
)

// partRows are rows whose answer a stage left empty. Every third message has parts with the
// text, every third has the text itself, and an empty answer of its own.
func partRows(n int) (rows []formats.Trajectory) {
	for i := range n {
		answer := formats.Message{Role: "assistant", Sampled: true}
		row := formats.Trajectory{TrajectoryID: fmt.Sprintf("t%03d", i), ExampleID: fmt.Sprint(i), Example: `{"answer":"42"}`, Status: outcomes.StatusOK,
			StopReason: outcomes.StopDone,
			Calls:      []formats.Call{{Target: true, Sampling: "{}", Tools: -1}}}
		switch i % 3 {
		case 0:
			answer.ContentParts = `[{"type":"text","text":"4"},{"type":"text","text":"2"},{"type":"refusal","refusal":"no"}]`
		case 1:
			answer.Content = "42"
		case 2:
			answer.Content, row.Answer = "42", "42"
		}
		row.Messages = []formats.Message{{Parent: -1, Role: "user", Content: "?", Call: -1}, answer}
		rows = append(rows, row)
	}
	return rows
}

// TestPartsOfAnswersThatAreEmpty: rewards see the text of parts in rows of stages
// that left their answer empty, and an answer that was empty where they do not.
func TestPartsOfAnswersThatAreEmpty(t *testing.T) {
	for _, c := range []struct {
		stage   string
		version int
		found   bool
	}{{"rollout", 1, true}, {"rollout", 2, false}, {"import", 1, true}, {"import", 2, false}, {"curate", 9, true}} {
		for _, specs := range [][]string{
			{"match:exact"}, {"length:max=1,of=characters"}, {`expr:answer == "42" ? 1 : 0`}, {`expr:len(answer) == 2 && len(messages) == 2 ? 1 : 0`},
			{"command:" + words("answer")},
		} {
			t.Run(fmt.Sprint(c.stage, c.version, specs), func(t *testing.T) {
				in, out := filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "out")
				shard, err := shards.Begin(t.Context(), in, manifest.Spec{Stage: c.stage, Version: c.version, Kind: schema.KindTrajectories},
					shards.Options{Of: 1})
				if err != nil {
					t.Fatal(err)
				}
				if err := shards.NewTable[formats.Trajectory](shard, "", -1).Write(t.Context(), partRows(30)); err != nil {
					t.Fatal(err)
				}
				if _, err := shard.Commit(t.Context(), shards.Outcome{}); err != nil {
					t.Fatal(err)
				}
				o := options(t, in, out, specs...)
				if r, err := score.Run(t.Context(), o); err != nil || r.Rows != 30 {
					t.Fatal(err, r)
				}
				scores, _ := rows(t, out)
				full := *scores[2].Reward
				for i, s := range scores {
					if s.Reward == nil || (*s.Reward == full) != (i%3 == 2 || i%3 == 0 && c.found) {
						t.Errorf("row %d has reward %v, the answer that is known %v", i, s.Reward, full)
					}
				}
			})
		}
	}
}
