package ruletest

import (
	"slices"

	"pgregory.net/rapid"

	"github.com/rollmill/rollmill/stages/curate"
)

type suite struct {
	curate.RuleKind
	rule curate.Rule
}

func (s suite) judge(t *rapid.T, b curate.Batch, g []curate.Group) curate.Ruling {
	r, err := curate.Apply(s.rule, b, g)
	if err != nil {
		t.Fatal(err)
	}
	s.check(t, r.Verdicts, len(g))
	return r
}

func (s suite) check(t *rapid.T, verdicts []curate.Verdict, n int) {
	if len(verdicts) != n {
		t.Fatalf("%d verdicts for %d", len(verdicts), n)
	}
	for _, v := range verdicts {
		if v.Reason != "" && !slices.Contains(s.Reasons, v.Reason) {
			t.Fatalf("reason %q is not announced", v.Reason)
		}
	}
}

func (s suite) orNone(v []curate.Verdict, n int) []curate.Verdict {
	if v == nil {
		return make([]curate.Verdict, n)
	}
	return v
}
