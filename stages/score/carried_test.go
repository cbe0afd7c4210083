package score_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/stages/score"
)

func stringOf(values ...int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(values), "[]"), " ", "-")
}

func TestEarlierScoresAreCarriedForward(t *testing.T) {
	in, first, second := "mem://carry/rollout", "mem://carry/first", "mem://carry/second"
	wide := trajectories()
	base(t, in, wide)
	run(t, options(t, in, first, "a=expr:generation", "b*0.5=expr:sampled_tokens", "bad*0=expr:example.question"))
	run(t, options(t, first, second, "a*10=expr:generation + 1", "c=expr:rewards.b / 2", "d*0=expr:rewards.bad ?? 3"))
	got, d := rows(t, second)
	if d.Base == nil || d.Base.URI != "../rollout" || len(d.Inputs) != 2 || d.Inputs[1].URI != "../first" || d.Inputs[1].Role != "scores" {
		t.Fatalf("base %+v, inputs %+v", d.Base, d.Inputs)
	}
	for i, s := range got {
		var names []string
		for _, r := range s.Rewards {
			names = append(names, r.Name)
		}
		if strings.Join(names, " ") != "b bad a c d" {
			t.Fatalf("row %d has rewards %v", i, names)
		}
		if !score.Scorable(s.Status) {
			continue
		}
		b := float64(wide[i].SampledTokens)
		want := b*0.5 + 10*float64(s.Generation+1) + b/2
		if s.Reward == nil || math.Abs(*s.Reward-want) > 1e-9 || s.Rewards[1].Failure != "answer" || *s.Rewards[4].Value != 3 {
			t.Errorf("row %d is %+v, want %v", i, s, want)
		}
	}
	third := "mem://carry/third"
	r := run(t, options(t, second, third, "e*0=expr:rewards.a + rewards.b"))
	if got2, _ := rows(t, third); r.Counts["scored"] == 0 || *got2[0].Reward != *got[0].Reward {
		t.Errorf("a weightless reward moved the total: %+v, before %+v", got2[0], got[0])
	}
}

func TestUnknownRewardsAreFoundBeforeAnyRow(t *testing.T) {
	in := "mem://unknown/rollout"
	base(t, in, trajectories())
	run(t, options(t, in, "mem://unknown/first", "a=expr:1"))
	_, err := score.Run(t.Context(), options(t, "mem://unknown/first", "mem://unknown/second", "c=expr:rewards.b / 2"))
	if err == nil || !strings.Contains(err.Error(), `no reward "b" is computed before this one (there are: a)`) {
		t.Errorf("error %v", err)
	}
	_, err = score.Run(t.Context(), options(t, in, "mem://unknown/third", "c*0=expr:2"))
	if err == nil || !strings.Contains(err.Error(), "every reward has weight 0") {
		t.Errorf("error %v", err)
	}
}

func TestShapedRewardsAddUp(t *testing.T) {
	in, out := "mem://shaped/rollout", "mem://shaped/score"
	base(t, in, trajectories())
	shaped := "'" + strings.Trim(strings.Fields(words("shaped"))[0], "'") + "' program shaped"
	run(t, options(t, in, out, "x=command:"+shaped, "y*-2=command:"+shaped, "z=expr:1"))
	got, _ := rows(t, out)
	for i, s := range got {
		if !score.Scorable(s.Status) {
			if s.ShapedRewards != nil {
				t.Errorf("row %d: a failed trajectory has shaped rewards", i)
			}
			continue
		}
		for k, v := range s.ShapedRewards {
			if v != -float64(k) {
				t.Errorf("row %d has shaped rewards %v", i, s.ShapedRewards)
			}
		}
		if len(s.ShapedRewards) == 0 {
			t.Errorf("row %d has none: %+v", i, s)
		}
	}
	run(t, options(t, out, "mem://shaped/more", "w=expr:2"))
	more, _ := rows(t, "mem://shaped/more")
	run(t, options(t, out, "mem://shaped/less", "y=expr:2"))
	less, _ := rows(t, "mem://shaped/less")
	for i := range got {
		if len(more[i].ShapedRewards) != len(got[i].ShapedRewards) || less[i].ShapedRewards != nil {
			t.Errorf("row %d: %v carried forward is %v, and %v with a component replaced", i, got[i].ShapedRewards, more[i].ShapedRewards,
				less[i].ShapedRewards)
		}
	}
}
