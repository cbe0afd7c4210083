package limit_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules/limit"
	"github.com/rollmill/rollmill/stages/curate/rules/ruletest"
)

func TestExample(t *testing.T) {
	ruletest.Run(t, limit.Example, number(limit.Example, 1), curate.CompatNone)
}

func TestLimit(t *testing.T) {
	ruletest.Run(t, limit.Best, number(limit.Best, 2), curate.CompatNone)
	ruletest.Run(t, limit.Any, number(limit.Any, 2), curate.CompatNone)
}

func number(k curate.RuleKind, n int64) curate.RuleSettings {
	s := k.New().(*curate.Number)
	s.N = n
	return s
}
