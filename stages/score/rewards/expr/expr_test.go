package expr_test

import (
	"log/slog"
	"math"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/score/rewards/expr"
	"github.com/rollmill/rollmill/stages/score/rewards/rewardtest"
)

func TestConformance(t *testing.T) {
	for _, source := range []string{
		`len(answer) < 17 ? 1 : 0`, `answer == example.answer`, `example.n * 0.5 + sampled_tokens`,
		`count(messages, .sampled) + len(messages[2].tool_calls)`, `rewards.tree + 1`, `rewards.tree ?? -1`, `metadata.turns`,
	} {
		t.Run(source, func(t *testing.T) {
			rewardtest.Run(t, rewardtest.Suite{Kind: expr.Kind, Arguments: source, Known: []string{"tree"}})
		})
	}
}

func TestValues(t *testing.T) {
	row := rewardtest.Rows("tree", "slow")[1]
	row.Known[1].Value, row.Known[1].Failure = nil, outcomes.RewardTimeout
	for source, want := range map[string]score.Value{
		`answer contains "answer"`:                              {Reward: 1},
		`answer == "no"`:                                        {Reward: 0},
		`sampled_tokens / 10`:                                   {Reward: 1.5},
		`example.nested.words[1] == "b" and status == "ok"`:     {Reward: 1},
		`messages[-1].role == "assistant" ? generation : -1`:    {Reward: 1},
		`fromJSON(messages[2].tool_calls[0].arguments).upto`:    {Reward: 0},
		`rewards.tree * 0.5`:                                    {Reward: 0.5},
		`rewards["slow"] ?? 0.25`:                               {Reward: 0.25},
		`rewards.slow == nil ? 7 : 8`:                           {Reward: 7},
		`rewards.slow == 1 ? 7 : 8`:                             {Failure: outcomes.RewardComponent},
		`1 / (generation - 1)`:                                  {Failure: outcomes.RewardNotFinite},
		`example.nothing`:                                       {Failure: outcomes.RewardMissing},
		`example.question`:                                      {Failure: outcomes.RewardAnswer},
		`example.nothing.deeper + 1`:                            {Failure: outcomes.RewardMissing},
		`example.gold == answer`:                                {Failure: outcomes.RewardMissing},
		`metadata.gold == answer`:                               {Failure: outcomes.RewardMissing},
		`(example.gold ?? answer) == answer`:                    {Reward: 1},
		`"gold" in example ? 1 : 0`:                             {Reward: 0},
		`answer matches example.answer + "("`:                   {Failure: outcomes.RewardError},
		`date("2024-03-01").Unix()`:                             {Reward: 1709251200},
		`1e308 * 10 * sampled_tokens`:                           {Failure: outcomes.RewardNotFinite},
		`int(example.id[8:]) + (answer matches "[0-9]" ? 1: 0)`: {Reward: 1},
	} {
		v := rewardtest.Score(t, rewardtest.New(t, expr.Kind, source, "tree", "slow"), []*score.Row{row})[0]
		if v.Failure != want.Failure || math.Abs(v.Reward-want.Reward) > 1e-12 {
			t.Errorf("%s is %+v, want %+v", source, v, want)
		}
	}
}

func TestCompileErrorsHaveAPlace(t *testing.T) {
	for source, want := range map[string]string{
		"":                           "empty",
		"len(answer":                 "(1:1",
		"len(anser) < 3":             "unknown name anser (1:5)",
		`answer + "!"`:               "gives a string",
		"rewards.tre + 1":            `no reward "tre" is computed before this one (there are: tree) (1:`,
		"now().Unix()":               "unknown name now (1:1)",
		`example.answer == "a" ? 1`:  "(1:",
		`len(keys(example))`:         "unknown name keys",
		`sampled_tokens + "1" > "2"`: "(1:16)",
	} {
		_, err := expr.Kind.Make(source, score.Setup{Known: []string{"tree"}, Log: slog.New(slog.DiscardHandler)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v does not mention %q", source, err, want)
		}
	}
}

func TestItNeedsWhatItMentions(t *testing.T) {
	for source, want := range map[string]score.Detail{
		"len(answer) + completion_tokens": score.Light, "metadata.turns": score.Light, "answer == example.answer": score.Head,
		"len(messages)": score.Text, "len($env)": score.Text,
	} {
		if n := rewardtest.New(t, expr.Kind, source).Describe().Detail; n != want {
			t.Errorf("%s needs %v", source, n)
		}
	}
}

// TestContentIsTheTextOfParts, when a message has parts.
func TestContentIsTheTextOfParts(t *testing.T) {
	r := rewardtest.New(t, expr.Kind, `messages[-1].content == "42" ? 1 : 0`)
	row := score.Row{Trajectory: &formats.Trajectory{Status: outcomes.StatusOK, Messages: []formats.Message{
		{Parent: -1, Role: "assistant", ContentParts: `[{"type":"text","text":"4"},{"type":"text","text":"2"}]`},
	}}}
	values := make([]score.Value, 1)
	if err := r.Score(t.Context(), []*score.Row{&row}, values); err != nil || values[0].Reward != 1 {
		t.Errorf("%+v, %v", values, err)
	}
}

func BenchmarkAnswer(b *testing.B) {
	r := rewardtest.New(b, expr.Kind, `len(answer) < 100 and answer contains "answer" ? 1 : 0`)
	rows := rewardtest.Rows()
	values := make([]score.Value, len(rows))
	n := 0
	for b.Loop() {
		if err := r.Score(b.Context(), rows, values); err != nil {
			b.Fatal(err)
		}
		n += len(rows)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
}
