package parquet

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/training"
)

// TestAnEmptyListIsNotNull: that an engine sampled no token is a fact, and that nobody
// knows what it sampled is none.
func TestAnEmptyListIsNotNull(t *testing.T) {
	row := formats.Trajectory{TrajectoryID: "t", Advantages: []training.MessageAdvantage{}, Messages: []formats.Message{
		{TokenIDs: []int32{}, Logprobs: []float32{}, PromptDeltaIDs: []int32{1}, ToolCalls: nil},
		{TokenIDs: []int32{4}, Logprobs: []float32{-1}, PromptDeltaIDs: []int32{}},
		{},
	}, Candidates: []formats.Candidate{{TokenIDs: []int32{}}, {ToolCalls: []formats.ToolCall{}}}}
	back := read[formats.Trajectory](t, fileOf(t, [][]formats.Trajectory{{row}}), 0, 1)
	if d := cmp.Diff(row, back[0]); d != "" {
		t.Error(d)
	}
}
