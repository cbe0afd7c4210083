package length_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules/length"
	"github.com/rollmill/rollmill/stages/curate/rules/ruletest"
)

func TestLength(t *testing.T) {
	ruletest.Run(t, length.Kind, curate.Options{MaxSampledTokens: 1})
	ruletest.Run(t, length.Kind, curate.Options{MaxSequenceTokens: 1, MinMessages: 2})
}
