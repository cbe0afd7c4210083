package minvalid_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules/minvalid"
	"github.com/rollmill/rollmill/stages/curate/rules/ruletest"
)

func TestMinValid(t *testing.T) {
	ruletest.Run(t, minvalid.Kind, curate.Options{})
	ruletest.Run(t, minvalid.Kind, curate.Options{MinValid: 4})
}

func TestDefaultIsTwo(t *testing.T) {
	rule, _ := minvalid.Kind.New(curate.Options{})
	r, _ := curate.Judge(rule, curate.Batch{}, []curate.Group{{Valid: 1}, {Valid: 2}})
	if r.Verdicts[0].Reason != "min_valid" || r.Verdicts[1].Reason != "" {
		t.Errorf("%v", r.Verdicts)
	}
}
