package rules_test

import (
	"fmt"
	"testing"

	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules"
	"github.com/rollmill/rollmill/stages/curate/rules/ruletest"
)

func TestBudget(t *testing.T) {
	ruletest.Run(t, rules.Budget, tokens(100), curate.CompatNone)
}

func TestBudgetIsNotExceeded(t *testing.T) {
	rule, _ := tokens(100).Rule(curate.Setup{})
	groups := make([]curate.Group, 40)
	for i := range groups {
		groups[i] = curate.Group{ID: fmt.Sprint(i), SampledTokens: int64(1 + 7*i%30)}
	}
	r, err := curate.Apply(rule, curate.Batch{Seed: 1}, groups)
	if err != nil {
		t.Fatal(err)
	}
	spent, smallest := int64(0), int64(1000)
	for i, v := range r.Verdicts {
		if v.Reason == "" {
			spent += groups[i].SampledTokens
		} else {
			smallest = min(smallest, groups[i].SampledTokens)
		}
	}
	if spent > 100 || spent+smallest <= 100 {
		t.Errorf("%d of 100 are spent, and a group of %d is left out", spent, smallest)
	}
}

func tokens(n int64) curate.RuleSettings {
	s := rules.Budget.New().(*rules.Number)
	s.N = n
	return s
}
