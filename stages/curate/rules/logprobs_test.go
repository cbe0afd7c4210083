package rules_test

import (
	"math"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules"
	"github.com/rollmill/rollmill/stages/curate/rules/ruletest"
)

func TestLogprobs(t *testing.T) {
	ruletest.Run(t, rules.Logprobs, &rules.LogprobsSettings{Check: true}, curate.CompatNone)
	ruletest.Run(t, rules.Logprobs, &rules.LogprobsSettings{Check: true, AnyTemperature: true}, curate.CompatNone)
}

func TestEachFault(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	for _, c := range []struct {
		want     string
		ids      []int32
		logprobs []float32
		sampling string
	}{
		{"", []int32{1, 2}, []float32{-1, 0}, `{"temperature":1}`},
		{"token ids are missing", nil, []float32{-1}, "{}"},
		{"log probabilities are missing", []int32{1}, nil, "{}"},
		{"1 log probabilities for 2 tokens", []int32{1, 2}, []float32{-1}, "{}"},
		{"token 1 is NaN", []int32{1, 2}, []float32{-1, nan}, "{}"},
		{"token 0 is infinite", []int32{1}, []float32{inf}, "{}"},
		{"token 0 is above 0", []int32{1}, []float32{0.5}, "{}"},
		{"token 0 is -9999, at or under the floor", []int32{1}, []float32{-9999}, "{}"},
		{"raw at temperature 0.7", []int32{1}, []float32{-1}, `{"temperature":0.7}`},
		{"raw at temperature 0.7", []int32{1}, []float32{-1}, `{"temperature":0.7,"logprobs_mode":"processed_logprobs"}`}, // the request decides nothing
	} {
		rule, _ := (&rules.LogprobsSettings{Check: true}).Rule(curate.Setup{})
		row := formats.Trajectory{Messages: []formats.Message{{Parent: -1, Sampled: true, TokenIDs: c.ids, Logprobs: c.logprobs}},
			Calls: []formats.Call{{Target: true, Sampling: c.sampling}}}
		v := rule.Rows(curate.Batch{}, curate.Group{}, []curate.Row{{Member: &formats.Member{}, Trajectory: &row}})[0]
		if (v.Reason == "") != (c.want == "") || !strings.Contains(v.Detail, c.want) {
			t.Errorf("want %q, got %v", c.want, v)
		}
	}
	rule, _ := (&rules.LogprobsSettings{Check: true, AnyTemperature: true}).Rule(curate.Setup{})
	row := formats.Trajectory{Messages: []formats.Message{{Parent: -1, Sampled: true, TokenIDs: []int32{1}, Logprobs: []float32{-1}}},
		Calls: []formats.Call{{Target: true, Sampling: `{"temperature":0.7}`}}}
	if v := rule.Rows(curate.Batch{}, curate.Group{}, []curate.Row{{Member: &formats.Member{}, Trajectory: &row}})[0]; v.Reason != "" {
		t.Errorf("at any temperature: %v", v)
	}
	rule, _ = (&rules.LogprobsSettings{Check: true}).Rule(curate.Setup{})
	row.Calls[0].LogprobsMode = formats.LogprobsProcessed
	if v := rule.Rows(curate.Batch{}, curate.Group{}, []curate.Row{{Member: &formats.Member{}, Trajectory: &row}})[0]; v.Reason != "" {
		t.Errorf("from an engine of processed logprobs: %v", v)
	}
}

// Another engine has another floor.
func TestFloor(t *testing.T) {
	floor := -100.0
	rule, err := (&rules.LogprobsSettings{Check: true, Floor: &floor}).Rule(curate.Setup{})
	if err != nil {
		t.Fatal(err)
	}
	for p, refused := range map[float32]bool{-99.5: false, -100: true, -9999: true} {
		row := formats.Trajectory{Messages: []formats.Message{{Parent: -1, Sampled: true, TokenIDs: []int32{1}, Logprobs: []float32{p}}},
			Calls: []formats.Call{{Target: true, Sampling: "{}"}}}
		v := rule.Rows(curate.Batch{}, curate.Group{}, []curate.Row{{Member: &formats.Member{}, Trajectory: &row}})[0]
		if (v.Reason != "") != refused {
			t.Errorf("%v: %v", p, v)
		}
	}
}
