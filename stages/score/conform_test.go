package score_test

import (
	"strings"
	"testing"

	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/score/rewards/rewardtest"
)

// TestTheExampleConforms, as every reward must.
func TestTheExampleConforms(t *testing.T) {
	rewardtest.Run(t, rewardtest.Suite{Kind: politeKind, Arguments: "1."})
}

// TestSumsOfRewards: weighted sums, formulas of rewards, and how many tokens
// were sampled; a formula of a reward without value has none.
func TestSumsOfRewards(t *testing.T) {
	const in = "mem://sums/rollout"
	base(t, in, trajectories())
	run(t, options(t, in, "mem://sums/score", "a*0.5=expr:generation", "b*-2=expr:sampled_tokens / 100", "both*0=expr:rewards.a * 10 + rewards.b",
		"bad*0=expr:rewards.both / (generation - 1)"))
	got, _ := rows(t, "mem://sums/score")
	seen := 0
	for _, s := range got {
		if !score.Scorable(s.Status) {
			continue
		}
		a, b := *s.Rewards[0].Value, *s.Rewards[1].Value
		if *s.Reward != 0.5*a-2*b || *s.Rewards[2].Value != 10*a+b || (s.Rewards[3].Value == nil) != (s.Generation == 1) {
			t.Errorf("%+v", s)
		}
		seen++
	}
	if seen == 0 {
		t.Error("no row is scored")
	}
}

type silentSettings struct{ politeSettings }

func (s *silentSettings) Reward(setup score.Setup) (score.Reward, error) {
	r, err := s.politeSettings.Reward(setup)
	return silent{r}, err
}

type silent struct{ score.Reward }

func (silent) Describe() score.Description { return score.Description{} }

// TestRewardSaysWhatItNeeds: one whose description is zero is refused, as is a wrapper that forgets it.
func TestRewardSaysWhatItNeeds(t *testing.T) {
	kind := politeKind
	kind.New = func() score.RewardSettings { return &silentSettings{} }
	o := score.Options{Rewards: []score.Spec{{Name: "p", Weight: 1, Kind: kind.Name, Arguments: "1."}}, Registry: plugin.NewRegistry("reward", kind)}
	if _, err := o.TryRewards(t.Context()); err == nil || !strings.Contains(err.Error(), `reward "p": kind `+kind.Name+" describes nothing") {
		t.Error(err)
	}
}
