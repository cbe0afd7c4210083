package rules_test

import (
	"errors"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules"
	"github.com/rollmill/rollmill/stages/curate/rules/ruletest"
	"github.com/rollmill/rollmill/storage/fault"
)

func TestFilter(t *testing.T) {
	ruletest.Run(t, rules.Filter, &rules.FilterSettings{Expressions: []string{"0 < group.mean && group.mean < 1"}}, curate.CompatNone)
	ruletest.Run(t, rules.Filter,
		&rules.FilterSettings{Expressions: []string{"group.valid > 1", "trajectory.reward > group.mean || trajectory.answer contains \"a\""}},
		curate.CompatNone)
}

func ruleOf(text string) (curate.Rule, error) {
	return (&rules.FilterSettings{Expressions: []string{text}}).Rule(curate.Setup{})
}

func TestInvalidConditions(t *testing.T) {
	for _, text := range []string{"group.mean", "group.meen > 0", "0 <", "now() > 1"} {
		var usage *fault.Error
		if _, err := ruleOf(text); !errors.As(err, &usage) || usage.Kind != fault.Usage || fault.HintOf(usage) == "" {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// An expression that fails of a member refuses that member.
func TestFailingFilter(t *testing.T) {
	rule, err := ruleOf("trajectory.metadata.turns > 2")
	if err != nil {
		t.Fatal(err)
	}
	rows := []curate.Row{
		{Member: &formats.Member{}, Trajectory: &formats.Trajectory{Metadata: `{"turns":3}`}}, {Member: &formats.Member{}, Trajectory: &formats.Trajectory{}},
	}
	v := rule.Rows(curate.Batch{}, curate.Group{}, rows)
	if v[0].Reason != "" || v[1].Reason != "filter" || v[1].Detail == "" {
		t.Errorf("%v", v)
	}
}

// What an expression reads of a group is what _groups says of it.
func TestColumnsOfGroups(t *testing.T) {
	g := curate.Group{ID: "a@2", ExampleID: "a", Epoch: 2, Count: 6, Valid: 4, Failed: 1, Mean: 0.5, Min: 0, Max: 1, StdPop: 0.5, Solved: 0.5,
		SampledTokens: 100}
	none := curate.Group{ID: "b@2", Count: 2, Failed: 1}
	for text, want := range map[string][2]bool{
		"group.failed == 1 && group.unscored == 1":                      {true, true},
		"group.std == 0.5 && group.std_pop == group.std":                {true, false},
		"group.std_sample > 0.577 && group.std_sample < 0.578":          {true, false},
		"group.solved_count == 2 && group.spread == 1":                  {true, false},
		"len(group.pass_at_k) == 4 && group.pass_at_k[1] > 0.83":        {true, false},
		"group.sampled_tokens == 100 && group.length_mean == 25":        {true, false},
		"group.mean != group.mean && group.length_mean != group.solved": {false, true},
	} {
		rule, err := ruleOf(text)
		if err != nil {
			t.Fatal(err)
		}
		r, err := curate.Apply(rule, curate.Batch{}, []curate.Group{g, none})
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]bool{r.Verdicts[0].Reason == "", r.Verdicts[1].Reason == ""}; got != want {
			t.Errorf("%s is %v, want %v: %v", text, got, want, r.Verdicts)
		}
	}
}

// A group's tokens are in memory only when a filter reads them.
func TestTokensReported(t *testing.T) {
	for text, want := range map[string]bool{
		"trajectory.sampled_tokens < 10":                       false,
		"group.mean > 0":                                       false,
		"group.sampled_tokens < 10":                            true,
		"trajectory.sampled_tokens < 2 * group.length_mean":    true,
		"let g = group; g.sampled_tokens > 0":                  true,
		`group["sampled_tokens"] > trajectory.sampled_tokens`:  true,
		"group.meen > 0 || group.sampled_tokens is no program": false,
	} {
		rule, err := ruleOf(text)
		if err != nil && want {
			t.Error(err)
		}
		if got := err == nil && rule.Tokens; got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
