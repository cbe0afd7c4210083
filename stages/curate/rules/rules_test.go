package rules_test

import (
	"slices"
	"testing"

	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/stages/curate/rules"
	"github.com/rollmill/rollmill/stages/plugin/plugintest"
)

func TestEveryRuleConforms(t *testing.T) {
	plugintest.Tested(t, "rules.go", len(rules.All.Names()), `ruletest\.Run\(t, (rules\.)?%s,`)
}

// TestStoredReasons lists reasons that datasets contain: none of them may change or
// be removed. A new one needs no line here.
func TestStoredReasons(t *testing.T) {
	all := []string{decision.DropFailed, decision.DropUnscored}
	for _, k := range rules.All.All() {
		all = append(all, k.Reasons...)
	}
	for _, stored := range []string{
		"failed", "unscored", "min_valid", "flat", "min_reward_diff", "curriculum", "subsample", "leak", "stale", "logprobs", "length",
		"few_messages", "duplicate", "filter", "token_budget", "best_of", "limit", "near_duplicate", "pool", "split", "images",
	} {
		if !slices.Contains(all, stored) {
			t.Errorf("no rule gives the reason %q", stored)
		}
	}
}
