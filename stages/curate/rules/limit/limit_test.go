package limit_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules/limit"
	"github.com/rollmill/rollmill/stages/curate/rules/ruletest"
)

func TestExample(t *testing.T) {
	ruletest.Run(t, limit.Example, &limit.ExampleSettings{N: 1}, curate.CompatNone)
}

func TestLimit(t *testing.T) {
	ruletest.Run(t, limit.Best, &limit.BestSettings{N: 2}, curate.CompatNone)
	ruletest.Run(t, limit.Any, &limit.AnySettings{N: 2}, curate.CompatNone)
}
