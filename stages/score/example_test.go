package score_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/score"
)

// politeKind is a whole reward: 1 for an answer that ends in the text given,
// else 0. As a plug-in it has a folder under rewards/, a line in rewards and
// a test that hands its Kind to rewardtest.Run.
var politeKind = score.RewardKind{Kind: plugin.Kind[score.RewardSettings]{
	Name: "polite",
	Help: "check how the answer ends",
	New:  func() score.RewardSettings { return &politeSettings{} },
}}

type politeSettings struct{ Ending string }

func (s *politeSettings) Declare(d *plugin.Declarer) {
	d.String(&s.Ending, "ending", "reward answers that end in `TEXT`").FirstInSpec()
}

func (s *politeSettings) Reward(score.Setup) (score.Reward, error) {
	if s.Ending == "" {
		return nil, errors.New("no ending is given")
	}
	return polite{s.Ending}, nil
}

type polite struct{ ending string }

func (polite) Describe() score.Description { return score.Description{Detail: score.Light} }
func (polite) Close() error                { return nil }

func (p polite) Score(ctx context.Context, rows []*score.Row, values []score.Value) error {
	for i, row := range rows {
		switch n := len(row.Answer) - len(p.ending); {
		case row.Answer == "":
			values[i] = score.Failed(outcomes.RewardError, "there is no answer")
		case n >= 0 && row.Answer[n:] == p.ending:
			values[i] = score.Value{Reward: 1}
		}
	}
	return ctx.Err()
}

func ExampleRewardKind() {
	reward, err := politeKind.Make("please.", score.Setup{Name: "polite"})
	if err != nil {
		panic(err)
	}
	defer reward.Close()
	rows := []*score.Row{
		{Trajectory: &formats.Trajectory{Answer: "One more, please."}},
		{Trajectory: &formats.Trajectory{Answer: "One more."}},
		{Trajectory: &formats.Trajectory{}},
	}
	values := make([]score.Value, len(rows))
	if err := reward.Score(context.Background(), rows, values); err != nil {
		panic(err)
	}
	for _, v := range values {
		fmt.Printf("%v %q\n", v.Reward, v.Error)
	}
	// Output:
	// 1 ""
	// 0 ""
	// 0 "there is no answer"
}
