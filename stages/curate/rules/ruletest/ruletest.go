// Package ruletest tests what every rule must guarantee.
package ruletest

import (
	"regexp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/plugin/plugintest"
)

// Setup returns curate's own options at their defaults, under a compat.
func Setup(compat curate.Compat) curate.Setup {
	return curate.Setup{Compat: compat, FlatTolerance: training.FlatTolerance, MinValid: curate.DefaultMinValid}
}

var reasonText = regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)

// Run tests the rule of a kind with these settings.
func Run(t *testing.T, k curate.RuleKind, settings curate.RuleSettings, compat curate.Compat) {
	RunUnder(t, k, settings, Setup(compat))
}

// RunUnder is Run with other options of curate's own.
func RunUnder(t *testing.T, k curate.RuleKind, settings curate.RuleSettings, setup curate.Setup) {
	if k.Help == "" || len(k.Reasons) == 0 {
		t.Error("a rule has a help phrase and reasons")
	}
	for _, reason := range k.Reasons {
		if !reasonText.MatchString(reason) {
			t.Errorf("reason %q is not lower case with underscores", reason)
		}
	}
	for _, reason := range k.More {
		if !slices.Contains(k.Reasons, reason) {
			t.Errorf("More has %q, which is not among the reasons", reason)
		}
	}
	plugintest.Settings(t, func() plugin.Settings { return k.New() })
	rule, err := settings.Rule(setup)
	each, compares, looks, reads := rule.Group != nil, rule.Groups != nil, rule.Members != nil, rule.Rows != nil
	if err != nil || each && compares || looks && reads || !each && !compares && !looks && !reads {
		t.Fatalf("the settings make no rule, or several: %v", err)
	}
	s := suite{k, rule}
	t.Run("pure", func(t *testing.T) { rapid.Check(t, s.pure) })
	t.Run("state", func(t *testing.T) { rapid.Check(t, s.state) })
	if setup.Compat != curate.CompatNAT { // which breaks ties by place
		t.Run("order does not matter", func(t *testing.T) { rapid.Check(t, s.order) })
	}
	if k.Again && !each {
		t.Error("it is asked again, and does not judge each group for itself")
	}
	if reads {
		t.Run("rows", func(t *testing.T) { rapid.Check(t, s.rows) })
	}
	if looks {
		t.Run("members", func(t *testing.T) { rapid.Check(t, s.members) })
	}
}
