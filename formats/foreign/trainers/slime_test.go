package trainers

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/sequences"
	"github.com/rollmill/rollmill/formats/training"
)

func slimeAttempt(edit func(*formats.Trajectory)) formats.Trajectory {
	one, two, version := 1.0, 2.0, int64(3)
	t := formats.Trajectory{Reward: &one, Advantage: &two, Example: `{"answer":{"x":4}}`, Status: outcomes.StatusOK,
		Messages: []formats.Message{
			{Parent: -1, Role: "user", Content: "q", Call: -1},
			{Parent: 0, Role: "assistant", Sampled: true, Call: 0, TokenIDs: []int32{3, 4}, Logprobs: []float32{-1, -2},
				PromptDeltaIDs: []int32{1, 2}},
			{Parent: 1, Role: "tool", Content: "r", ToolCallID: "c", Call: -1},
			{Parent: 2, Role: "assistant", Content: "done", Sampled: true, Call: 1, TokenIDs: []int32{6},
				Logprobs: []float32{-0.5}, PromptDeltaIDs: []int32{5}},
		},
		Calls: []formats.Call{{Target: true, Tools: -1, PolicyVersion: &version}, {Target: true, Tools: -1}},
	}
	edit(&t)
	return t
}

func same(*formats.Trajectory) {}

func broken(t *formats.Trajectory) { t.Messages[3].PrefixBreak = "template" }

// give returns the samples of a group that is the eighth of its file, after nine
// samples.
func give(t *testing.T, weights *sequences.Weights, rows ...formats.Trajectory) []SlimeSample {
	t.Helper()
	return samples(&exporters.Item{Rows: rows, Before: 7, Given: 9, Weights: weights, Skip: func(r string) { t.Error(r) }})
}

// TestOneSamplePerSequence: the siblings of a trajectory share their rollout_id,
// and nothing is dropped for a prompt that was rewritten.
func TestOneSamplePerSequence(t *testing.T) {
	got := give(t, nil, slimeAttempt(same), slimeAttempt(broken), slimeAttempt(same))
	var text []string
	for _, s := range got {
		text = append(text, fmt.Sprint(s.GroupIndex, s.Index, s.RolloutID, s.Tokens, s.ResponseLength, s.LossMask,
			s.RolloutLogProbs, s.WeightVersions, s.Metadata.Sequence, s.Metadata.Sequences, *s.Metadata.Advantage))
	}
	want := []string{
		"7 9 9 [1 2 3 4 5 6] 4 [1 1 0 1] [-1 -2 0 -0.5] [3] 0 1 2",
		"7 10 10 [1 2 3 4] 2 [1 1] [-1 -2] [3] 0 2 2",
		"7 11 10 [5 6] 1 [1] [-0.5] [] 1 2 2",
		"7 12 12 [1 2 3 4 5 6] 4 [1 1 0 1] [-1 -2 0 -0.5] [3] 0 1 2",
	}
	if !reflect.DeepEqual(text, want) {
		t.Errorf("got  %q\nwant %q", text, want)
	}
	if s := got[0]; s.Label != `{"x":4}` || s.Response != "done" || s.Reward != 1 || len(s.Prompt) != 1 {
		t.Errorf("%+v", s)
	}
}

// TestWeightsAreInTheAdvantage: slime's own loss counts a trajectory once, so
// that is what needs no weight.
func TestWeightsAreInTheAdvantage(t *testing.T) {
	totals := sequences.Totals{Trajectories: 2, Sequences: 3, Tokens: 6}
	for per, want := range map[sequences.Per][]float64{
		sequences.Trajectory:   {2, 2, 2},
		sequences.EachSequence: {2 * 2. / 3, 2 * 2. / 3 * 3 / 2, 2 * 2. / 3 * 3},
		sequences.Token:        {2, 2, 2},
	} {
		for i, s := range give(t, &sequences.Weights{Per: per, Totals: totals}, slimeAttempt(same), slimeAttempt(broken)) {
			if math.Abs(float64(*s.Metadata.Advantage)-want[i]) > 1e-12 {
				t.Errorf("per %s, sample %d: %v, want %v", per, i, *s.Metadata.Advantage, want[i])
			}
		}
	}
}

// TestAdvantagesOfSlimesTokens: of the response, with the weight; then there is no one of the sample.
func TestAdvantagesOfSlimesTokens(t *testing.T) {
	own := func(row *formats.Trajectory) {
		row.Advantages = []training.MessageAdvantage{{Message: 1, Value: 1, Tokens: []float32{0.5, 1.5}}}
	}
	totals := sequences.Totals{Trajectories: 1, Sequences: 2, Tokens: 6}
	for want, weights := range map[string]*sequences.Weights{"[0.5 1.5 0 2]": nil, "[0.25 0.75 0 1]": {Per: sequences.EachSequence, Totals: totals}} {
		m := give(t, weights, slimeAttempt(own))[0].Metadata
		if got := fmt.Sprint(m.Advantages); got != want || m.Advantage != nil {
			t.Errorf("%s, %v, want %s", got, m.Advantage, want)
		}
	}
}

func TestReasonsOfSkippedMembers(t *testing.T) {
	for reason, edit := range map[string]func(*formats.Trajectory){
		sequences.NoPrompt: func(r *formats.Trajectory) { r.Messages[1].PromptDeltaIDs = nil },
		NoReward:           func(r *formats.Trajectory) { r.Reward = nil },
		sequences.Nothing:  func(r *formats.Trajectory) { r.Calls[0].Target, r.Calls[1].Target = false, false },
	} {
		heard, tally := "", sequences.Tally{}
		got := samples(&exporters.Item{Rows: []formats.Trajectory{slimeAttempt(edit)}, Tally: &tally,
			Skip: func(r string) { heard = r }})
		if heard != reason || len(got) != 0 || tally.Tokens != 0 || tally.Lost != tally.In {
			t.Errorf("%q, want %q: %+v, %+v", heard, reason, got, tally)
		}
	}
}
