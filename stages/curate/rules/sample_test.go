package rules_test

import (
	"fmt"
	"testing"

	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules"
	"github.com/rollmill/rollmill/stages/curate/rules/ruletest"
)

func TestSample(t *testing.T) {
	half := 0.5
	ruletest.Run(t, rules.Sample, &rules.SampleSettings{Groups: &half}, curate.CompatNone)
	ruletest.Run(t, rules.Sample, &rules.SampleSettings{Trajectories: &half}, curate.CompatNone)
}

// About the share is kept, and a larger share keeps what a smaller one does.
func TestSampleShares(t *testing.T) {
	groups := make([]curate.Group, 10000)
	for i := range groups {
		groups[i].ID = fmt.Sprint(i)
	}
	var smaller []curate.Verdict
	for _, share := range []float64{0.1, 0.5, 0.9, 1} {
		rule, _ := (&rules.SampleSettings{Groups: &share}).Rule(curate.Setup{})
		r, err := curate.Apply(rule, curate.Batch{Seed: 3}, groups)
		if err != nil {
			t.Fatal(err)
		}
		kept := 0
		for i, v := range r.Verdicts {
			if v.Reason == "" {
				kept++
			} else if smaller != nil && smaller[i].Reason == "" {
				t.Fatalf("group %d is in a smaller share and not in %v", i, share)
			}
		}
		if d := float64(kept) - share*10000; d < -200 || d > 200 {
			t.Errorf("share %v kept %d of 10000", share, kept)
		}
		smaller = r.Verdicts
	}
}
