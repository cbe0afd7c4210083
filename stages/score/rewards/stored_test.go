package rewards_test

import (
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/score/rewards"
	"github.com/rollmill/rollmill/stages/score/rewards/rewardtest"
)

func TestStoredConformance(t *testing.T) {
	for _, arguments := range []string{"", "agent"} {
		rewardtest.Run(t, rewardtest.Suite{Kind: rewards.Stored, Arguments: arguments})
	}
}

func TestValues(t *testing.T) {
	half, two := 0.5, 2.0
	came := &formats.Trajectory{Reward: &two, Rewards: []formats.NamedReward{
		{Name: "agent", Value: &half, Weight: 1}, {Name: "judge", Failure: outcomes.RewardTimeout, Error: "it took too long"}}}
	for _, c := range []struct {
		arguments string
		row       *formats.Trajectory
		want      float64
		says      string
	}{
		{"", came, 2, ""},
		{"agent", came, 0.5, ""},
		{"judge", came, 0, "timeout it took too long"},
		{"helpful", came, 0, "with agent, judge"},
		{"", &formats.Trajectory{}, 0, "without a reward"},
		{"agent", &formats.Trajectory{}, 0, "without a reward"},
	} {
		v := rewardtest.Score(t, rewardtest.New(t, rewards.Stored, c.arguments), []*score.Row{{Trajectory: c.row}})[0]
		if v.Reward != c.want || (v.Failure == "") != (c.says == "") || !strings.Contains(v.Error, c.says) {
			t.Errorf("stored:%s gives %+v", c.arguments, v)
		}
	}
}
