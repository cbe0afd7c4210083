package rules_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules"
	"github.com/rollmill/rollmill/stages/curate/rules/ruletest"
)

func TestExample(t *testing.T) {
	ruletest.Run(t, rules.ExampleLimit, number(rules.ExampleLimit, 1), curate.CompatNone)
}

func TestLimit(t *testing.T) {
	ruletest.Run(t, rules.BestOf, number(rules.BestOf, 2), curate.CompatNone)
	ruletest.Run(t, rules.Limit, number(rules.Limit, 2), curate.CompatNone)
}

func number(k curate.RuleKind, n int64) curate.RuleSettings {
	s := k.New().(*rules.Number)
	s.N = n
	return s
}
