package rules_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules"
	"github.com/rollmill/rollmill/stages/curate/rules/ruletest"
)

func TestMinValid(t *testing.T) {
	ruletest.Run(t, rules.MinValid, &rules.MinValidSettings{}, curate.CompatNone)
	four := ruletest.Setup(curate.CompatNone)
	four.MinValid = 4
	ruletest.RunUnder(t, rules.MinValid, &rules.MinValidSettings{}, four)
}

func TestDefaultIsTwo(t *testing.T) {
	rule, _ := (&rules.MinValidSettings{}).Rule(ruletest.Setup(curate.CompatNone))
	r, _ := curate.Apply(rule, curate.Batch{}, []curate.Group{{Valid: 1}, {Valid: 2}})
	if r.Verdicts[0].Reason != "min_valid" || r.Verdicts[1].Reason != "" {
		t.Errorf("%v", r.Verdicts)
	}
}
