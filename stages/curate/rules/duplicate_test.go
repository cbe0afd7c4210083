package rules_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules"
	"github.com/rollmill/rollmill/stages/curate/rules/ruletest"
)

func TestDuplicate(t *testing.T) {
	ruletest.Run(t, rules.Duplicate, on(rules.Duplicate), curate.CompatNone)
}
