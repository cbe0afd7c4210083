package limit_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules/limit"
	"github.com/rollmill/rollmill/stages/curate/rules/ruletest"
)

func TestExample(t *testing.T) {
	ruletest.Run(t, limit.Example, curate.Options{MaxPerExample: 1})
}

func TestLimit(t *testing.T) {
	ruletest.Run(t, limit.Best, curate.Options{BestOf: 2})
	ruletest.Run(t, limit.Any, curate.Options{MaxPerGroup: 2})
}
