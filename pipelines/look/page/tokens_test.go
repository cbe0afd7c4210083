package page

import (
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/pipelines/look/model"
)

// TestTokensHaveTheirOwnAdvantages: a line below says which are trained more, and the title how
// much; without any of its own a token has its message's.
func TestTokensHaveTheirOwnAdvantages(t *testing.T) {
	one := 1.0
	row := &formats.Trajectory{Status: outcomes.StatusOK, Advantage: &one, Calls: []formats.Call{{Target: true}, {Target: true}},
		Messages: []formats.Message{
			{Parent: -1, Role: "assistant", Sampled: true, Call: 0, TokenIDs: []int32{1, 2, 3}, Logprobs: []float32{-1, -1, -1}},
			{Parent: 0, Role: "assistant", Sampled: true, Call: 1, TokenIDs: []int32{4}, Logprobs: []float32{-1}}},
		Advantages: []training.MessageAdvantage{{Message: 0, Tokens: []float32{0.5, -2, 0}}}}
	c := model.Judged(row, nil, nil)
	c.Signals = []formats.Signal{{Message: 0, Component: "trainer", Values: []float32{-1.5, -1.25, -1}}}
	for message, want := range [][]string{{"more", "less", "p10"}, {"more"}} {
		for i, x := range TokensOf(c, message, 0, 10).List {
			if !strings.HasSuffix(x.Class, want[i]) || strings.Contains(x.Label, "advantage -2, ") != (x.ID == "2") ||
				strings.Contains(x.Label, ", trainer -1.25, ") != (x.ID == "2") {
				t.Errorf("message %d, token %d: %q, %q", message, i, x.Class, x.Label)
			}
		}
	}
}
