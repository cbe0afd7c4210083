package length_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules/length"
	"github.com/rollmill/rollmill/stages/curate/rules/ruletest"
)

func TestLength(t *testing.T) {
	ruletest.Run(t, length.Kind, &length.Settings{Sampled: 1}, curate.CompatNone)
	ruletest.Run(t, length.Kind, &length.Settings{Sequence: 1, Messages: 2}, curate.CompatNone)
}
