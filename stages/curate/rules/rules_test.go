package rules_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules"
	"github.com/rollmill/rollmill/stages/curate/rules/ruletest"
)

// asked has, for each rule, settings that ask for it.
var asked = map[string][]any{
	"split":          {"split", "a=0.5,b=0.5", "take", "a"},
	"leak":           {"holdout", "mem://held"},
	"pools":          {"pools", true},
	"stale":          {"policy-version", 2, "max-staleness", 1},
	"logprobs":       {"check-logprobs", true},
	"images":         {"drop-images", true},
	"length":         {"max-sampled-tokens", 2},
	"duplicate":      {"drop-duplicates", true},
	"near_duplicate": {"drop-near-duplicates", 0.5},
	"filter":         {"filter", []string{"group.mean < 0.6", "trajectory.reward > 0"}},
	"min_valid":      {},
	"flat":           {},
	"example_limit":  {"max-per-example", 1},
	"curriculum":     {"curriculum", true},
	"sample":         {"sample-groups", 0.5, "sample-trajectories", 0.5},
	"token_budget":   {"token-budget", 20},
	"best_of":        {"best-of", 2},
	"limit":          {"max-per-group", 2},
}

// Every rule that is registered holds what all must.
func TestRegistered(t *testing.T) {
	for i, k := range rules.All.All() {
		t.Run(k.Name, func(t *testing.T) {
			given, ok := asked[k.Name]
			if !ok {
				t.Fatal("no settings here ask for it")
			}
			if k.Help == "" || len(k.Reasons) == 0 {
				t.Error("a rule has a help phrase and reasons")
			}
			rule := ruletest.With(rules.All, given...).All()[i]
			ruletest.Run(t, k, rule.Settings, curate.CompatNone)
		})
	}
}
