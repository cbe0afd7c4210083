package all_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules/all"
	"github.com/rollmill/rollmill/stages/curate/rules/ruletest"
)

// asked has, for each rule, options that ask for it.
func asked() map[string]curate.Options {
	half, one, two := 0.5, int64(1), int64(2)
	return map[string]curate.Options{
		"split":          {Split: []curate.Side{{Name: "a", Share: 0.5}, {Name: "b", Share: 0.5}}, Take: "a"},
		"leak":           {Holdout: []stages.Input{{URI: "mem://held"}}},
		"pools":          {Pools: curate.Pools{Enabled: true}},
		"stale":          {PolicyVersion: &two, MaxStaleness: &one},
		"logprobs":       {CheckLogprobs: true},
		"length":         {MaxSampledTokens: 2},
		"duplicate":      {DropDuplicates: true},
		"near_duplicate": {NearDuplicates: &half},
		"filter":         {Filters: []string{"group.mean < 0.6", "trajectory.reward > 0"}},
		"min_valid":      {},
		"flat":           {},
		"example_limit":  {MaxPerExample: 1},
		"curriculum":     {Curriculum: curate.Curriculum{Enabled: true}},
		"sample":         {SampleGroups: &half, SampleTrajectories: &half},
		"token_budget":   {TokenBudget: 20},
		"best_of":        {BestOf: 2},
		"limit":          {MaxPerGroup: 2},
	}
}

// Every rule that is registered holds what all must.
func TestRegistered(t *testing.T) {
	options := asked()
	for _, k := range all.Rules {
		t.Run(k.Name, func(t *testing.T) {
			o, ok := options[k.Name]
			if !ok {
				t.Fatal("no options here ask for it")
			}
			if k.Help == "" || len(k.Reasons) == 0 {
				t.Error("a rule has a help phrase and reasons")
			}
			ruletest.Run(t, k, o)
		})
	}
}
