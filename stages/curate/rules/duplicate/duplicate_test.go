package duplicate_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules/duplicate"
	"github.com/rollmill/rollmill/stages/curate/rules/ruletest"
)

func TestDuplicate(t *testing.T) {
	ruletest.Run(t, duplicate.Kind, &duplicate.Settings{Drop: true}, curate.CompatNone)
}
