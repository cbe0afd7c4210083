package rewardtest

import (
	"fmt"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/score"
)

const (
	brokenExample = "broken"
	groupSize     = 3
)

// Rows returns 12 ordinary trajectories of 4 examples: some right, some wrong,
// some truncated, some with branches and tool calls. Each call makes new ones.
func Rows(known ...string) []*score.Row {
	var rows []*score.Row
	for e := range 4 {
		for g := range groupSize {
			rows = append(rows, row(e, g, known))
		}
	}
	return rows
}

func row(e, g int, known []string) *score.Row {
	id := fmt.Sprintf("example-%d", e)
	answer := fmt.Sprintf("The answer is %d.", e+g)
	t := &formats.Trajectory{
		TrajectoryID: formats.TrajectoryID("run", id, 0, g), Run: "run", ExampleID: id, Generation: int32(g),
		Example: fmt.Sprintf(`{"id": %q, "question": "how many?", "answer": "The answer is %d.", "n": %d, "nested": {"words": ["a", "b"]}}`, id, e, e),
		Answer:  answer, Status: outcomes.StatusOK, StopReason: outcomes.StopDone, Model: "policy",
		PromptTokens: 12, CompletionTokens: int32(5 + 10*g), SampledTokens: int32(5 + 10*g), Metadata: `{"turns": 2}`,
		Calls:    []formats.Call{{Model: "policy", Target: true, Tools: 0}, {Model: "policy", Target: true, Tools: 0}},
		ToolSets: []string{`[{"type":"function","function":{"name":"count"}}]`},
		Messages: []formats.Message{
			{Parent: -1, Role: "system", Content: "Count.", Call: -1},
			{Parent: 0, Role: "user", Content: "how many?", Call: -1},
			{Parent: 1, Role: "assistant", Sampled: true, FinishReason: "tool_calls", Call: 0, TokenIDs: []int32{1, 2},
				Logprobs:  []float32{-1, -2},
				ToolCalls: []formats.ToolCall{{ID: "call-1", Name: "count", Arguments: fmt.Sprintf(`{"upto":%d}`, e)}}},
			{Parent: 2, Role: "tool", ToolCallID: "call-1", Content: fmt.Sprint(e + g), Call: -1},
			{Parent: 3, Role: "assistant", Content: answer, Sampled: true, FinishReason: "stop", Call: 1,
				TokenIDs: []int32{3}, Logprobs: []float32{-0.5}},
		},
	}
	if g == 2 {
		t.Status, t.StopReason = outcomes.StatusTruncated, outcomes.StopLength
	}
	return &score.Row{Trajectory: t, Known: rewards(known, float64(g)), Shaped: shaped(known, g)}
}

// shaped returns the shaped rewards of the two messages that the model wrote,
// of each known reward that has a value and, under "", as stored.
func shaped(names []string, g int) map[string][]float64 {
	out := map[string][]float64{}
	if g < 2 {
		for _, name := range append([]string{""}, names...) {
			out[name] = []float64{0.5, float64(2 * g)}
		}
	}
	return out
}

// rewards gives the known rewards values; the last generation has none.
func rewards(names []string, value float64) []formats.NamedReward {
	var out []formats.NamedReward
	for _, name := range names {
		n := formats.NamedReward{Name: name, Weight: 1, Failure: outcomes.RewardTimeout, Error: "too slow"}
		if value < 2 {
			n = formats.NamedReward{Name: name, Weight: 1, Value: &value}
		}
		out = append(out, n)
	}
	return out
}

// Empty returns rows in which everything optional is null.
func Empty(known ...string) []*score.Row {
	bare := &formats.Trajectory{TrajectoryID: "empty-1", ExampleID: "empty", Status: outcomes.StatusOK,
		StopReason: outcomes.StopDone}
	hollow := &formats.Trajectory{TrajectoryID: "empty-2", ExampleID: "empty", Status: outcomes.StatusOK,
		StopReason: outcomes.StopDone,
		Example:    `{"answer": null}`, Messages: []formats.Message{{Parent: -1, Role: "assistant", Sampled: true, Call: 7}}}
	return []*score.Row{{Trajectory: bare, Known: rewards(known, 2)}, {Trajectory: hollow}}
}

// Broken returns invalid rows, and one with a bad answer.
func Broken(bad string, known ...string) []*score.Row {
	var rows []*score.Row
	for i, example := range []string{`{"answer": `, `["a list"]`, "{\"answer\": \"\xff\"}", `{"answer": {"deep": [[[]]]}}`} {
		r := row(1, i%2, known)
		r.TrajectoryID, r.ExampleID, r.Example = fmt.Sprintf("broken-%d", i), brokenExample, example
		r.Messages[2].Parent = 4 // a loop
		rows = append(rows, r)
	}
	if bad != "" {
		r := row(1, 0, known)
		r.TrajectoryID, r.ExampleID, r.Answer = "broken-answer", brokenExample, bad
		rows = append(rows, r)
	}
	return rows
}
