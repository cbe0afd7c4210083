package curate_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/curate"
)

// The identity holds of the options what it held when datasets were made with
// them, to the letter, whatever a flag is called today.
func TestIdentityHoldsWhatItAlwaysHeld(t *testing.T) {
	in := changed(t, "groups", 2, three, func(*formats.Trajectory) {})
	const usual = `"flat-tolerance":1e-12,"keep-flat":false,`
	for name, c := range map[string]struct {
		given  []any // to rules
		change func(*curate.Options)
		want   string
	}{
		"default":    {want: `{"compat":"none","epoch":2,` + usual + `"min-valid":2}`},
		"seed alone": {nil, func(o *curate.Options) { o.Seed = 7 }, `{"compat":"none","epoch":2,` + usual + `"min-valid":2}`},
		"min valid":  {nil, func(o *curate.Options) { o.MinValid = 3 }, `{"compat":"none","epoch":2,` + usual + `"min-valid":3}`},
		"flat tolerance": {nil, func(o *curate.Options) { o.FlatTolerance = new(float64) },
			`{"compat":"none","epoch":2,"flat-tolerance":0,"keep-flat":false,"min-valid":2}`},
		"keep flat": {[]any{"keep-flat", true}, func(o *curate.Options) { o.FlatTolerance = new(float64) },
			`{"compat":"none","epoch":2,"keep-flat":true,"min-valid":2}`},
		"nat": {[]any{"keep-flat", true}, func(o *curate.Options) { o.Compat = curate.CompatNAT }, `{"compat":"nat","epoch":2}`},
		"curriculum": {[]any{"curriculum", true}, nil,
			`{"compat":"none","curriculum":{"ascending":false,"increment":0.2,"initial":0.3,"interval":5,"min-reward-diff":0.1,"random-subsample":null},"epoch":2,` + usual + `"min-valid":2,"seed":0}`},
		"curriculum of zeros": {[]any{"curriculum", true, "curriculum-initial", 0, "curriculum-increment", 0, "curriculum-interval", 0,
			"min-reward-diff", 0}, nil,
			`{"compat":"none","curriculum":{"ascending":false,"increment":0.2,"initial":0.3,"interval":5,"min-reward-diff":0,"random-subsample":null},"epoch":2,` + usual + `"min-valid":2,"seed":0}`},
		"curriculum's values": {[]any{"curriculum", true, "curriculum-initial", 0.5, "curriculum-increment", 0.25, "curriculum-interval", 3,
			"curriculum-ascending", true, "random-subsample", 1},
			func(o *curate.Options) { o.Seed = 9 },
			`{"compat":"none","curriculum":{"ascending":true,"increment":0.25,"initial":0.5,"interval":3,"min-reward-diff":0.1,"random-subsample":1},"epoch":2,` + usual + `"min-valid":2,"seed":9}`},
		"a curriculum that does not run": {[]any{"curriculum-initial", 0.5, "random-subsample", 0.5}, nil,
			`{"compat":"none","epoch":2,` + usual + `"min-valid":2}`},
		"pools": {[]any{"pools", true, "pool-hard-share", 0}, nil,
			`{"compat":"none","epoch":2,` + usual + `"min-valid":2,"pools":{"easy-from":1,"easy-share":0.25,"hard-share":0,"hard-to":0},"seed":0}`},
		"split": {[]any{"split", "train=0.75,validation", "take", "validation"}, nil,
			`{"compat":"none","epoch":2,` + usual +
				`"min-valid":2,"seed":0,"split":[{"name":"train","share":0.75},{"name":"validation","share":0.25}],"take":"validation"}`},
		"what is given at its default": {[]any{"check-logprobs", true, "logprob-floor", -9999, "sample-groups", 1, "policy-version", 0,
			"max-staleness", 0}, nil,
			`{"check-logprobs":true,"compat":"none","epoch":2,` + usual +
				`"logprob-floor":-9999,"max-staleness":0,"min-valid":2,"policy-version":0,"sample-groups":1,"seed":0}`},
		"rules without a seed": {[]any{"check-logprobs", true, "any-temperature", true, "max-sampled-tokens", 50, "max-sequence-tokens", 300, "min-messages", 1,
			"drop-duplicates", true,
			"drop-near-duplicates", 0.9, "max-per-example", 1, "filter", []string{"group.mean != 2", "trajectory.reward != 2"}}, nil,
			`{"any-temperature":true,"check-logprobs":true,"compat":"none","drop-duplicates":true,"drop-near-duplicates":0.9,"epoch":2,"filter":["group.mean != 2","trajectory.reward != 2"],` + usual +
				`"max-per-example":1,"max-sampled-tokens":50,"max-sequence-tokens":300,"min-messages":1,"min-valid":2}`},
		"best of":      {[]any{"best-of", 1}, nil, `{"best-of":1,"compat":"none","epoch":2,` + usual + `"min-valid":2,"seed":0}`},
		"per group":    {[]any{"max-per-group", 2}, nil, `{"compat":"none","epoch":2,` + usual + `"max-per-group":2,"min-valid":2,"seed":0}`},
		"token budget": {[]any{"token-budget", 20}, nil, `{"compat":"none","epoch":2,` + usual + `"min-valid":2,"seed":0,"token-budget":20}`},
		"sample trajectories": {[]any{"sample-trajectories", 0.7}, nil,
			`{"compat":"none","epoch":2,` + usual + `"min-valid":2,"sample-trajectories":0.7,"seed":0}`},
		"plan": {nil, func(o *curate.Options) {
			o.PlanTable = curate.PlanTable{Generations: 6, MaxPerExample: 5, Budget: budget(0)}
		},
			`{"compat":"none","epoch":2,` + usual + `"min-valid":2,"plan-budget":0,"plan-generations":6,"plan-max-per-example":5,"seed":0}`},
		"recompute": {nil, func(o *curate.Options) { o.Recompute = true }, `{"compat":"none","epoch":2,` + usual + `"min-valid":2,"recompute":true}`},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(in, in+"-"+strings.ReplaceAll(name, " ", "-"))
			o.Recomputer = func(training.GroupState) (func([]formats.Member, []formats.Trajectory) error, error) {
				return func([]formats.Member, []formats.Trajectory) error { return nil }, nil
			}
			ask(o, c.given...)
			if c.change != nil {
				c.change(&o)
			}
			_, d := run(t, o)
			if got, err := json.Marshal(d.Params); err != nil || string(got) != c.want {
				t.Errorf("%v\n got %s\nwant %s", err, got, c.want)
			}
		})
	}
}
