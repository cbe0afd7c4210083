package rules_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules"
	"github.com/rollmill/rollmill/stages/curate/rules/ruletest"
)

func TestLength(t *testing.T) {
	ruletest.Run(t, rules.Length, &rules.LengthSettings{Sampled: 1}, curate.CompatNone)
	ruletest.Run(t, rules.Length, &rules.LengthSettings{Sequence: 1, Messages: 2}, curate.CompatNone)
}
