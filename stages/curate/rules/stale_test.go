package rules_test

import (
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules"
	"github.com/rollmill/rollmill/stages/curate/rules/ruletest"
)

func TestStale(t *testing.T) {
	now, limit := int64(5), int64(2)
	ruletest.Run(t, rules.Stale, &rules.StaleSettings{Version: &now, MaxStaleness: &limit}, curate.CompatNone)
}

// The oldest target call counts; what is not under training does not.
func TestOldestTargetCall(t *testing.T) {
	now, limit, v2, v3, v5 := int64(5), int64(2), int64(2), int64(3), int64(5)
	rule, err := (&rules.StaleSettings{Version: &now, MaxStaleness: &limit}).Rule(curate.Setup{})
	if err != nil {
		t.Fatal(err)
	}
	call := func(v *int64, target bool) formats.Call { return formats.Call{PolicyVersion: v, Target: target} }
	for name, c := range map[string]struct {
		calls []formats.Call
		stale bool
	}{
		"fresh enough": {[]formats.Call{call(&v5, true), call(&v3, true)}, false}, "one is old": {[]formats.Call{call(&v5, true), call(&v2, true)}, true},
		"a judge is old": {[]formats.Call{call(&v5, true), call(&v2, false)}, false}, "unknown": {[]formats.Call{call(&v5, true), call(nil, true)}, true},
		"no call": {nil, true},
	} {
		v := rule.Rows(curate.Batch{}, curate.Group{},
			[]curate.Row{{Member: &formats.Member{}, Trajectory: &formats.Trajectory{Calls: c.calls}}})
		if (v[0].Reason == "stale") != c.stale {
			t.Errorf("%s: %v", name, v[0])
		}
	}
}
