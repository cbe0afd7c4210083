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

func TestLengthConformance(t *testing.T) {
	for _, arguments := range []string{"max=20,cache=10", "max=20,of=completion", "max=20,cache=20,of=characters"} {
		rewardtest.Run(t, rewardtest.Suite{Kind: rewards.Length, Arguments: arguments})
	}
}

func TestDAPO(t *testing.T) {
	for sampled, want := range map[int32]float64{0: 0, 99: 0, 100: 0, 101: -0.05, 110: -0.5, 119: -0.95, 120: -1, 121: -1, 5000: -1} {
		row := &score.Row{Trajectory: &formats.Trajectory{SampledTokens: sampled}}
		if v := rewardtest.Score(t, rewardtest.New(t, rewards.Length, "max=120,cache=20"), []*score.Row{row})[0]; v.Failure != "" || v.Reward != want {
			t.Errorf("%d tokens give %+v, want %v", sampled, v, want)
		}
	}
	unknown := &score.Row{Trajectory: &formats.Trajectory{CompletionTokens: 5}}
	if v := rewardtest.Score(t, rewardtest.New(t, rewards.Length, "max=120"), []*score.Row{unknown})[0]; v.Failure != outcomes.RewardError {
		t.Errorf("without token ids it gives %+v", v)
	}
}

func TestLengthBadArgumentsAreNamed(t *testing.T) {
	for arguments, want := range map[string]string{"": "max=", "max=0": "max=0", "max=5,cache=6": "cache=6", "max=5,of=words": "of=words", "5": `"5"`,
		"max=5,max=6": "twice", "max=5,min=1": `"min"`} {
		_, err := rewards.Length.Make(arguments, score.Setup{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("length:%s: error %v does not mention %q", arguments, err, want)
		}
	}
}
