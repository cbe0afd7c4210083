package leak_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules/leak"
	"github.com/rollmill/rollmill/stages/curate/rules/ruletest"
)

func TestLeak(t *testing.T) {
	ruletest.Run(t, leak.Kind, curate.Options{Holdout: []stages.Input{{URI: "mem://validation"}}})
}
