package rules_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules"
	"github.com/rollmill/rollmill/stages/curate/rules/ruletest"
)

func TestFlat(t *testing.T) {
	ruletest.Run(t, rules.Flat, &rules.FlatSettings{}, curate.CompatNone)
	wide := ruletest.Setup(curate.CompatNone)
	wide.FlatTolerance = 0.25
	ruletest.RunUnder(t, rules.Flat, &rules.FlatSettings{}, wide)
}

// A sum of weighted rewards leaves noise; it is still flat.
func TestNoiseIsFlat(t *testing.T) {
	rule, _ := (&rules.FlatSettings{}).Rule(ruletest.Setup(curate.CompatNone))
	a, b := 0.1, 0.2
	groups := []curate.Group{
		{Valid: 2, Min: 0.3, Max: a + b, Mean: 0.3},
		{Valid: 2, Min: 1e15 / 3, Max: 1e15/3 + 0.0625},
		{Valid: 2, Min: 0.3, Max: 0.3001},
	}
	r, err := curate.Apply(rule, curate.Batch{}, groups)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"flat", "flat", ""} {
		if got := r.Verdicts[i].Reason; got != want {
			t.Errorf("group %d: %q, want %q", i, got, want)
		}
	}
}
