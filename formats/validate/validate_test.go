package validate

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/randomtest"
)

var mixed = randomtest.Options{Groups: 60, Generations: 4, SampledTokens: 80, PromptTokens: 40,
	Scored: true, Failures: 0.4, Unscored: 0.3, Branches: 0.4}

func TestRandomRowsAreValid(t *testing.T) {
	for group := range randomtest.Trajectories(3, mixed) {
		for i := range group {
			if p := Trajectory(&group[i]); len(p) > 0 {
				t.Errorf("%s %s: %v", group[i].TrajectoryID, group[i].Status, p)
			}
		}
	}
	for group := range randomtest.Scores(3, mixed) {
		for i := range group {
			if p := Score(&group[i]); len(p) > 0 {
				t.Errorf("score %d: %v", i, p)
			}
		}
	}
	for group := range randomtest.Members(3, mixed) {
		for i := range group {
			if p := Member(&group[i]); len(p) > 0 {
				t.Errorf("member %d: %v", i, p)
			}
		}
	}
	bare := randomtest.Options{NoTokens: true}
	for _, row := range randomtest.Group(3, 0, bare) {
		if p := Trajectory(&row); len(p) > 0 {
			t.Errorf("without token ids: %v", p)
		}
	}
}

// row returns a complete row: messages 0 and 1 are input, 2 is sampled with a
// tool call, 3 is the tool's answer, the last is sampled.
func row() *formats.Trajectory {
	for group := range randomtest.Trajectories(3, randomtest.Options{Groups: 20, Messages: 9, SampledTokens: 40, PromptTokens: 20, Scored: true}) {
		if t := &group[0]; len(t.Messages) >= 5 {
			t.Candidates = []formats.Candidate{{Message: 2, Content: "other"}}
			return t
		}
	}
	panic("no row is long enough")
}

func TestEveryInvariantIsChecked(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	cases := []struct {
		column string
		spoil  func(*formats.Trajectory)
	}{
		{"trajectory_id", func(t *formats.Trajectory) { t.TrajectoryID = "" }},
		{"example_id", func(t *formats.Trajectory) { t.ExampleID = "" }},
		{"epoch", func(t *formats.Trajectory) { t.Epoch = -1 }},
		{"generation", func(t *formats.Trajectory) { t.Generation = -1 }},
		{"example", func(t *formats.Trajectory) { t.Example = "[1]" }},
		{"example", func(t *formats.Trajectory) { t.Example = `{"a":NaN}` }},
		{"messages[2].parent", func(t *formats.Trajectory) { t.Messages[2].Parent = 2 }},
		{"messages[0].parent", func(t *formats.Trajectory) { t.Messages[0].Parent = -2 }},
		{"messages[1].role", func(t *formats.Trajectory) { t.Messages[1].Role = "" }},
		{"messages[1].content", func(t *formats.Trajectory) { t.Messages[1].Content = "\xff" }},
		{"messages[1].reasoning", func(t *formats.Trajectory) { t.Messages[1].Reasoning = "\xff" }},
		{"messages[1].content_parts", func(t *formats.Trajectory) { t.Messages[1].ContentParts = "[]" }},
		{"messages[1].content_parts", func(t *formats.Trajectory) { t.Messages[1].Content, t.Messages[1].ContentParts = "", "{}" }},
		{"messages[2].tool_calls[0].name", func(t *formats.Trajectory) { t.Messages[2].ToolCalls[0].Name = "" }},
		{"messages[2].call", func(t *formats.Trajectory) { t.Messages[2].Call = int32(len(t.Calls)) }},
		{"messages[2].call", func(t *formats.Trajectory) { t.Messages[2].Call = -1 }},
		{"messages[1].call", func(t *formats.Trajectory) { t.Messages[1].Call = 0 }},
		{"messages[1].token_ids", func(t *formats.Trajectory) { t.Messages[1].TokenIDs = []int32{1} }},
		{"messages[1].logprobs", func(t *formats.Trajectory) { t.Messages[1].Logprobs = []float32{-1} }},
		{"messages[1].prompt_delta_ids", func(t *formats.Trajectory) { t.Messages[1].PromptDeltaIDs = []int32{1} }},
		{"messages[2].logprobs", func(t *formats.Trajectory) { t.Messages[2].Logprobs = t.Messages[2].Logprobs[1:] }},
		{"messages[2].logprobs[1]", func(t *formats.Trajectory) { t.Messages[2].Logprobs[1] = 0.5 }},
		{"messages[2].logprobs[0]", func(t *formats.Trajectory) { t.Messages[2].Logprobs[0] = float32(nan) }},
		{"messages[2].logprobs[0]", func(t *formats.Trajectory) { t.Messages[2].Logprobs[0] = float32(-inf) }},
		{"messages[2].token_ids", func(t *formats.Trajectory) { t.Messages[2].TokenIDs[0] = -1 }},
		{"messages[2].prompt_delta_ids", func(t *formats.Trajectory) { t.Messages[2].PromptDeltaIDs[0] = -1 }},
		{"calls[0].tools", func(t *formats.Trajectory) { t.Calls[0].Tools = 1 }},
		{"calls[0].tools", func(t *formats.Trajectory) { t.Calls[0].Tools = -2 }},
		{"calls[0].sampling", func(t *formats.Trajectory) { t.Calls[0].Sampling = "temperature" }},
		{"calls[0].latency_ms", func(t *formats.Trajectory) { t.Calls[0].LatencyMS = -1 }},
		{"tool_sets[0]", func(t *formats.Trajectory) { t.ToolSets[0] = "{}" }},
		{"candidates[0].message", func(t *formats.Trajectory) { t.Candidates[0].Message = 99 }},
		{"candidates[0].score", func(t *formats.Trajectory) { t.Candidates[0].Score = &nan }},
		{"candidates[0].metadata", func(t *formats.Trajectory) { t.Candidates[0].Metadata = "x" }},
		{"status", func(t *formats.Trajectory) { t.Status = "fine" }},
		{"stop_reason", func(t *formats.Trajectory) { t.StopReason = "" }},
		{"stop_reason", func(t *formats.Trajectory) { t.StopReason = outcomes.StopError }},
		{"failure_class", func(t *formats.Trajectory) { t.FailureClass = outcomes.FailEngine }},
		{"failure_class", func(t *formats.Trajectory) { t.Status, t.StopReason = outcomes.StatusFailed, outcomes.StopError }},
		{"failure_class", func(t *formats.Trajectory) {
			t.Status, t.StopReason, t.FailureClass = outcomes.StatusFailed, outcomes.StopError, "bad luck"
		}},
		{"messages", func(t *formats.Trajectory) { t.Messages = t.Messages[:2] }},
		{"messages", func(t *formats.Trajectory) { t.Status, t.StopReason = outcomes.StatusSkipped, outcomes.StopSkipped }},
		{"sampled_tokens", func(t *formats.Trajectory) { t.SampledTokens++ }},
		{"completion_tokens", func(t *formats.Trajectory) { t.CompletionTokens++ }},
		{"token_source", func(t *formats.Trajectory) { t.TokenSource = "" }},
		{"payload_digest", func(t *formats.Trajectory) { t.Messages[1].Content += " " }},
		{"reward", func(t *formats.Trajectory) { t.Reward = &inf }},
		{"reward", func(t *formats.Trajectory) {
			t.Status, t.StopReason, t.FailureClass = outcomes.StatusFailed, outcomes.StopError, outcomes.FailEngine
		}},
		{"rewards[1].name", func(t *formats.Trajectory) { t.Rewards[1].Name = t.Rewards[0].Name }},
		{"rewards[0].value", func(t *formats.Trajectory) { t.Rewards[0].Value = &nan }},
		{"rewards[0].weight", func(t *formats.Trajectory) { t.Rewards[0].Weight = nan }},
		{"rewards[0].failure", func(t *formats.Trajectory) { t.Rewards[0].Value = nil }},
		{"rewards[0].failure", func(t *formats.Trajectory) { t.Rewards[0].Failure = outcomes.RewardCrashed }},
		{"shaped_rewards[0]", func(t *formats.Trajectory) { t.ShapedRewards = []float64{nan} }},
		{"advantage", func(t *formats.Trajectory) { t.Advantage = &inf }},
		{"advantage", func(t *formats.Trajectory) { one := 1.0; t.Reward, t.Advantage = nil, &one }},
		{"finished_at", func(t *formats.Trajectory) { t.FinishedAt = t.StartedAt - 1 }},
		{"metadata", func(t *formats.Trajectory) { t.Metadata = "null" }},
	}
	whole := row()
	whole.SetPayloadDigest()
	if p := Trajectory(whole); len(p) > 0 {
		t.Fatalf("before anything is broken: %v", p)
	}
	for i, c := range cases {
		r := row()
		if c.column == "payload_digest" {
			r.SetPayloadDigest()
			c.spoil(r)
		} else {
			c.spoil(r)
			r.SetPayloadDigest()
		}
		found := Trajectory(r)
		if !slices.ContainsFunc(found, func(p Problem) bool { return p.Column == c.column }) {
			t.Errorf("case %d: nothing is said of %s: %v", i, c.column, found)
		}
		if len(found) > 0 && !strings.HasPrefix(found[0].String(), found[0].Column+": ") {
			t.Errorf("case %d: %s", i, found[0])
		}
	}
}

func TestReasonsInThinRows(t *testing.T) {
	one := 1.0
	scores := map[string]formats.Score{
		"failure": {TrajectoryID: "t", ExampleID: "e", Status: outcomes.StatusOK},
		"reward":  {TrajectoryID: "t", ExampleID: "e", Status: outcomes.StatusFailed, Reward: &one},
		"status":  {TrajectoryID: "t", ExampleID: "e", Status: "x", Failure: outcomes.RewardMissing},
	}
	for column, s := range scores {
		if p := Score(&s); len(p) != 1 || p[0].Column != column {
			t.Errorf("%s: %v", column, p)
		}
	}
	members := map[string]formats.Member{
		"no_advantage": {TrajectoryID: "t", ExampleID: "e", GroupID: "e@0", Status: outcomes.StatusOK, Reward: &one},
		"group_id":     {TrajectoryID: "t", ExampleID: "e", GroupID: "e", Status: outcomes.StatusOK, Reward: &one, Advantage: &one},
		"advantage":    {TrajectoryID: "t", ExampleID: "e", GroupID: "e@0", Status: outcomes.StatusOK, Advantage: &one},
	}
	for column, m := range members {
		if p := Member(&m); len(p) != 1 || p[0].Column != column {
			t.Errorf("%s: %v", column, p)
		}
	}
}
