package foreigntest

import (
	"math"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/randomtest"
)

// mixed has all states, nulls and branches, in small rows.
var mixed = randomtest.Options{Groups: 50, Generations: 4, Messages: 7, SampledTokens: 60, PromptTokens: 40,
	Scored: true, Failures: 0.3, Unscored: 0.3, Branches: 0.3}

func trajectories() map[string][][]formats.Trajectory {
	one := [][]formats.Trajectory{{extreme()}}
	one[0][0].SetPayloadDigest()
	return map[string][][]formats.Trajectory{
		"real sizes": slices.Collect(randomtest.Trajectories(5, randomtest.Options{Groups: 6})),
		"mixed":      slices.Collect(randomtest.Trajectories(5, mixed)),
		"without tokens": slices.Collect(randomtest.Trajectories(5,
			randomtest.Options{Groups: 2, NoTokens: true, SampledTokens: 20, PromptTokens: 20})),
		"extreme":           one,
		"zero":              {make([]formats.Trajectory, 3)},
		"none":              nil,
		"one row at a time": ones(),
	}
}

func ones() (groups [][]formats.Trajectory) {
	for group := range randomtest.Trajectories(6, mixed) {
		for i := range group {
			groups = append(groups, group[i:i+1])
		}
	}
	return groups
}

// extreme has the limits of every type, texts that need escapes, and empty
// lists inside lists that are not empty.
func extreme() formats.Trajectory {
	highest, lowest, tiny, zero := math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, math.Copysign(0, -1)
	version, text := int64(math.MinInt64), "é 日本 \U0001F600 \"quoted\" \\ <&> \u2028 \n\t"
	return formats.Trajectory{
		TrajectoryID: text, Run: text, ExampleID: text, Epoch: math.MaxInt32, Generation: math.MinInt32,
		Example: strings.Repeat(text, 5000),
		Messages: []formats.Message{
			{Parent: -1, Role: "user", Content: strings.Repeat("long ", 300_000), ContentParts: "[]", Name: text,
				Reasoning: text, Call: -1},
			{Parent: 0, Role: "assistant", ToolCallID: text,
				ToolCalls: []formats.ToolCall{{}, {ID: "a", Name: "b", Arguments: text}}, Sampled: true, FinishReason: "stop",
				Branch:         "retry",
				TokenIDs:       []int32{math.MaxInt32, 0, math.MinInt32},
				Logprobs:       []float32{float32(math.Copysign(0, -1)), -math.SmallestNonzeroFloat32, -math.MaxFloat32},
				PromptDeltaIDs: []int32{1}, PrefixBreak: "template"},
			{},
			{TokenIDs: make([]int32, 40_000), Logprobs: make([]float32, 40_000)},
		},
		Calls: []formats.Call{{},
			{Model: text, PolicyVersion: &version, Sampling: "{}", Tools: -1, PromptTokens: math.MaxInt32, CachedTokens: 1,
				Target:   true,
				Function: text, Error: text, Endpoint: text, LatencyMS: math.MaxInt64, Attempts: 3}},
		ToolSets:   []string{"", text},
		Candidates: []formats.Candidate{{Message: -1, Content: text, Score: &tiny, Metadata: "{}"}, {}},
		Answer:     text, Status: outcomes.StatusOK, StopReason: outcomes.StopDone, PolicyVersion: &version, Reward: &highest,
		Rewards: []formats.NamedReward{{Name: "a", Value: &lowest, Weight: highest},
			{Name: "b", Failure: outcomes.RewardCrashed, Error: text}, {Name: "c", Value: &zero}},
		ShapedRewards: []float64{zero, tiny, lowest}, GroupID: text, Advantage: &zero,
		StartedAt: 1, FinishedAt: 253_402_300_799_999_999, Metadata: "{}",
	}
}

var (
	zero, small   = 0.0, math.SmallestNonzeroFloat64
	extremeScores = [][]formats.Score{{{},
		{TrajectoryID: "t", Epoch: math.MinInt32, Reward: &zero, ShapedRewards: []float64{0},
			Rewards: []formats.NamedReward{{}, {Value: &small}}, Error: "\x00 is text too"}}, make([]formats.Score, 5000)}
	extremeStats = [][]formats.GroupStats{{{},
		{GroupID: "g", FirstRow: math.MaxInt64, Count: 1, Valid: 1, Mean: &zero, StdPop: &small, Min: &zero, Max: &small,
			Spread: &small, Solved: &zero}}}
)
