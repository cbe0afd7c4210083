package score_test

import (
	"context"
	"fmt"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/score"
)

// polite is a whole reward: 1 for an answer that ends in the text given, else
// 0. As a plugin it has a folder under rewards/, a line in rewards/all and a
// test that hands its Kind to rewardtest.Run.
type polite struct{ ending string }

var politeKind = score.Kind{
	Name:  "polite",
	Usage: "ENDING; 1 when the answer ends so",
	New: func(s score.Setup) (score.Reward, error) {
		if s.Arguments == "" {
			return nil, fmt.Errorf("no ending is given")
		}
		return polite{s.Arguments}, nil
	},
}

func (polite) Needs() score.Needs { return score.Light }
func (polite) Close() error       { return nil }

func (p polite) Score(ctx context.Context, rows []*score.Row, values []score.Value) error {
	for i, row := range rows {
		switch n := len(row.Answer) - len(p.ending); {
		case row.Answer == "":
			values[i] = score.Failed(formats.RewardError, "there is no answer")
		case n >= 0 && row.Answer[n:] == p.ending:
			values[i] = score.Value{Reward: 1}
		}
	}
	return ctx.Err()
}

func ExampleKind() {
	reward, err := politeKind.New(score.Setup{Spec: score.Spec{Name: "polite", Arguments: "please."}})
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
