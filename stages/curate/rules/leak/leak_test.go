package leak_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules/leak"
	"github.com/rollmill/rollmill/stages/curate/rules/ruletest"
)

func TestLeak(t *testing.T) {
	ruletest.Run(t, leak.Kind, &leak.Settings{Holdout: []string{"mem://validation"}}, curate.CompatNone)
}
