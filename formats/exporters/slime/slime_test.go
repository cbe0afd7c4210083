package slime

import (
	"math"
	"slices"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
)

func attempt(edit func(*formats.Trajectory)) formats.Trajectory {
	one := 1.0
	t := formats.Trajectory{Reward: &one, Example: `{"answer":{"x":4}}`, Status: formats.StatusOK,
		Messages: []formats.Message{
			{Parent: -1, Role: "user", Content: "q", Call: -1},
			{Parent: 0, Role: "assistant", Sampled: true, Call: 0, TokenIDs: []int32{3, 4}, Logprobs: []float32{-1, -2}, PromptDeltaIDs: []int32{1, 2}},
			{Parent: 1, Role: "tool", Content: "r", ToolCallID: "c", Call: -1},
			{Parent: 2, Role: "assistant", Content: "done", Sampled: true, Call: 1, TokenIDs: []int32{6}, Logprobs: []float32{-0.5}, PromptDeltaIDs: []int32{5}},
		},
		Calls: []formats.Call{{Target: true, Tools: -1}, {Target: true, Tools: -1}},
	}
	edit(&t)
	return t
}

func TestTokensAreThoseOfTheEngine(t *testing.T) {
	got := Samples([]formats.Trajectory{attempt(func(*formats.Trajectory) {})}, 7, 9, func(r string) { t.Error(r) })
	if len(got) != 1 {
		t.Fatal(got)
	}
	s := got[0]
	if !slices.Equal(s.Tokens, []int32{1, 2, 3, 4, 5, 6}) || !slices.Equal(s.LossMask, []int8{1, 1, 0, 1}) || s.ResponseLength != 4 ||
		!slices.Equal(s.RolloutLogProbs, []float32{-1, -2, 0, -0.5}) || s.Label != `{"x":4}` || s.GroupIndex != 7 || s.Index != 9 || s.Response != "done" {
		t.Errorf("%+v", s)
	}
}

func TestReasonsOfSkippedMembers(t *testing.T) {
	for reason, edit := range map[string]func(*formats.Trajectory){
		NoIDs:         func(r *formats.Trajectory) { r.Messages[1].PromptDeltaIDs = nil },
		Breaks:        func(r *formats.Trajectory) { r.Messages[3].PrefixBreak = "template" },
		Floored:       func(r *formats.Trajectory) { r.Messages[1].Logprobs[1] = float32(math.Inf(-1)) },
		NoReward:      func(r *formats.Trajectory) { r.Reward = nil },
		chat.Branches: func(r *formats.Trajectory) { r.Messages[3].Parent = -1 },
		chat.Empty:    func(r *formats.Trajectory) { r.Calls = nil },
	} {
		heard := ""
		if got := Samples([]formats.Trajectory{attempt(edit)}, 0, 0, func(r string) { heard = r }); heard != reason || len(got) != 0 {
			t.Errorf("%q, want %q: %+v", heard, reason, got)
		}
	}
}
