package rules_test

import (
	"testing"

	"github.com/rollmill/rollmill/formats/dataset/heldout"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules"
	"github.com/rollmill/rollmill/stages/curate/rules/ruletest"
)

func TestLeak(t *testing.T) {
	ruletest.Run(t, rules.Leak, &rules.LeakSettings{Options: heldout.Options{URIs: []string{"mem://validation"}}}, curate.CompatNone)
}
