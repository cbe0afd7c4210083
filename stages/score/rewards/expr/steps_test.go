package expr_test

import (
	"slices"
	"testing"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/score/rewards/expr"
	"github.com/rollmill/rollmill/stages/score/rewards/rewardtest"
)

func TestStepsConform(t *testing.T) {
	for _, source := range []string{`len(message.content)`, `step + 1 == steps ? rewards.tree : 0`, `answer == message.content`} {
		t.Run(source, func(t *testing.T) {
			rewardtest.Run(t, rewardtest.Suite{Kind: expr.Steps, Arguments: source, Known: []string{"tree"}})
		})
	}
}

// TestSteps: the row's model wrote a tool call, whose reply is "1", and the
// answer.
func TestSteps(t *testing.T) {
	row := rewardtest.Rows("tree", "slow")[1]
	row.Known[1].Value, row.Known[1].Failure = nil, outcomes.RewardTimeout
	for source, want := range map[string][]float64{
		`step`:         {0, 1},
		`steps - step`: {2, 1},
		`len(message.tool_calls) > 0 ? 0.25 : -1`: {0.25, -1},
		`len(replies)`:                             {1, 0},
		`any(replies, .content == "1") ? 1 : 0`:    {1, 0},
		`message.content == answer`:                {0, 1},
		`step + 1 == steps ? rewards.tree : 0`:     {0, 1},
		`example.n + len(messages) + generation`:   {6, 6},
		`message.finish_reason == "stop" ? 1 : .5`: {0.5, 1},
	} {
		v := rewardtest.Score(t, rewardtest.New(t, expr.Steps, source, "tree", "slow"), []*score.Row{row})[0]
		if v.Failure != "" || !slices.Equal(v.Shaped, want) || v.Reward != want[0]+want[1] {
			t.Errorf("%s is %+v, want %v", source, v, want)
		}
	}
	for source, want := range map[string]string{`1 / (step - 1)`: outcomes.RewardNotFinite, `rewards.slow + step`: outcomes.RewardComponent,
		`replies[0].content == "1"`: outcomes.RewardError, `step == 1 ? nil : 0`: outcomes.RewardAnswer} {
		if v := rewardtest.Score(t, rewardtest.New(t, expr.Steps, source, "tree", "slow"), []*score.Row{row})[0]; v.Failure != want || v.Shaped != nil {
			t.Errorf("%s is %+v, want %s", source, v, want)
		}
	}
	if _, err := expr.Kind.Make("step", score.Setup{}); err == nil {
		t.Error("an expression over the trajectory may name a step")
	}
}
