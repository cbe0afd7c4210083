package prices

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
)

func parsed(t *testing.T, text string) (Table, error) {
	t.Helper()
	var entries map[string]any
	if err := json.Unmarshal([]byte(text), &entries); err != nil {
		t.Fatal(err)
	}
	return Parse(entries)
}

func TestParse(t *testing.T) {
	table, err := parsed(t, `{"org/x":{"input":1,"output":2,"cached":0.1},"org/x-*":{"input":3,"output":0},"policy@*":{"input":0,"output":0}}`)
	if err != nil {
		t.Fatal(err)
	}
	for model, want := range map[string]Price{"org/x": {1, 2, 0.1}, "org/x-mini": {3, 0, 3}, "org/x-": {3, 0, 3}, "policy@12": {}} {
		if got, ok := table.Of(model); !ok || got != want {
			t.Errorf("%s costs %v, %t", model, got, ok)
		}
	}
	for _, model := range []string{"", "org/xx", "org", "policy", "a policy@1"} {
		if p, ok := table.Of(model); ok {
			t.Errorf("%q costs %v", model, p)
		}
	}
	if p, ok := (Table{"*": {1, 1, 1}}).Of(""); !ok || p.Input != 1 {
		t.Error("the price of all is not that of a model without a name")
	}
}

func TestParseRefuses(t *testing.T) {
	for text, culprit := range map[string]string{
		`{"m":{"input":-1,"output":2}}`: `"m"`, `{"m":{"input":1}}`: `"m"`, `{"m":{"output":1,"cached":1}}`: `"m"`, `{"m":{}}`: `"m"`, `{"m":5}`: `"m"`,
		`{"m":null}`: `"m"`, `{"m":{"input":"1","output":2}}`: `"m"`, `{"m":{"input":1,"output":true}}`: `"m"`, `{"m":{"input":null,"output":2}}`: `"m"`,
		`{"m":{"input":1,"output":2,"cached":-0.1}}`: `"m"`, `{"m":{"input":1,"output":2,"cache":1}}`: `"m"`, `{"m":{"Input":1,"output":2}}`: `"m"`,
		`{"m":{"input":1,"output":2e9}}`: `"m"`, `{"m":[1,2]}`: `"m"`, `{"m":{"input":1,"output":2,"cached":1,"x":1}}`: `"m"`,
		`{"a*":{"input":1,"output":2},"ab*":{"input":1,"output":2}}`: `"a*" and "ab*"`,
		`{"*":{"input":1,"output":2},"!*":{"input":1,"output":2}}`:   `"*" and "!*"`,
	} {
		if table, err := parsed(t, text); err == nil || !strings.Contains(err.Error(), culprit) {
			t.Errorf("%s: %v, %v", text, table, err)
		}
	}
	for _, not := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if table, err := Parse(map[string]any{"m": map[string]any{"input": not, "output": 1.0}}); err == nil {
			t.Errorf("%v: %v", not, table)
		}
	}
}

// TestCost counts what is known, and names and counts what is not.
func TestCost(t *testing.T) {
	rollout, score := map[string]float64{}, map[string]float64{"judge.known": 1}
	call := formats.Call{Model: "p@3", PromptTokens: 1000, CompletionTokens: 100, CachedTokens: 400}
	other, silent, failed, without, impossible := call, call, call, call, call
	other.Model, silent.PromptTokens, failed.Error, without.Sampling, impossible.CachedTokens = "user", 0, "HTTP 500", `{"no_usage":true}`, 1001
	repeated := call
	repeated.Repeated = true
	for _, attempt := range []*formats.Trajectory{
		{Status: outcomes.StatusOK, Attempts: 1, Calls: []formats.Call{call, other}},
		{Status: outcomes.StatusOK, Attempts: 1, Calls: []formats.Call{silent, failed, without, impossible}},
		{Status: outcomes.StatusOK, Attempts: 1, Calls: []formats.Call{repeated}},
		{Status: outcomes.StatusFailed, Attempts: 2, Calls: []formats.Call{call}}, // an attempt before
		{Status: outcomes.StatusOK, Attempts: 1},                                  // nothing recorded
		{Status: outcomes.StatusSkipped},
	} {
		Count(rollout, attempt)
	}
	Call(score, "judge", 2000, 10, 0)
	Call(score, "judge", 0, 0, 0)
	rollout["calls"], score["judge.calls"] = 8, 1
	table := Table{"p@*": {10, 50, 1}, "judge": {1, 100, 1}}
	c := table.Cost(Facts{"rollout": rollout, "score": score})
	near := func(got, want float64) bool { return math.Abs(got-want) < 1e-12 }
	if !near(*c.Total, 0.0258) || !near(c.Steps["rollout"], 0.0228) || !near(c.Steps["score"], 0.003) || !near(c.Models["p@3"], 0.0228) ||
		!near(c.Models["judge"], 0.003) || len(c.Steps) != 2 || len(c.Models) != 2 || !c.AtLeast {
		t.Errorf("%+v", c)
	}
	if want := []string{"2 of 12 calls: no price for calls of which no model is recorded", "1 of 12 calls: no price for user",
		"1 of 12 calls: no usage recorded of judge", "4 of 12 calls: no usage recorded of p@3"}; !slices.Equal(c.Unknown, want) {
		t.Errorf("%q\nwant %q", c.Unknown, want)
	}
	total, parts := c.Text()
	if total != "at least 0.0258" || parts != "rollout 0.0228, score 0.003, judge 0.003, p@3 0.0228, "+strings.Join(c.Unknown, ", ") {
		t.Errorf("%s: %s", total, parts)
	}
	c = Table{"no-one": {1, 1, 1}}.Cost(Facts{"rollout": rollout})
	if total, _ := c.Text(); total != "unknown" || c.Total != nil || !c.AtLeast {
		t.Errorf("%s: %+v", total, c)
	}
	old := Table{"*": {1, 1, 1}}.Cost(Facts{"rollout": {"calls": 7, "prompt_tokens": 10}}, Facts{"score": {"judge.calls": 2, "judge.known": 1}})
	if old == nil || old.Total != nil || !slices.Equal(old.Unknown, []string{"10 of 10 calls: no model recorded"}) {
		t.Errorf("of an earlier version: %+v", old)
	}
	score[Unmetered("reward r.x")] = 3
	c = table.Cost(Facts{"rollout": rollout, "score": score}, Facts{"score": {Unmetered("reward r.x"): 4}})
	if n := len(c.Unknown); n != 5 || c.Unknown[4] != "what reward r.x may have asked of models, for 7 trajectories" || *c.Total != 0.0258 {
		t.Errorf("%v, %q", *c.Total, c.Unknown)
	}
	// 0.1 + 0.2, and what is left of cached tokens that cost nothing, are no noise
	c = Table{"a": {Input: 0.1}, "b": {Input: 0.2}, "c": {Input: 0.3}}.Cost(Facts{"rollout": Call(Call(Call(nil, "a", 1e6, 0, 0), "b", 1e6, 0, 0),
		"c", 700_001, 0, 700_001)})
	if text, _ := json.Marshal(c); string(text) != `{"total":0.3,"at_least":false,"steps":{"rollout":0.3},"models":{"a":0.1,"b":0.2,"c":0}}` {
		t.Errorf("%s", text)
	}
	if c := (Table{}).Cost(Facts{"rollout": rollout}); c != nil {
		t.Errorf("without prices: %+v", c)
	}
	if c := table.Cost(Facts{"rollout": {}}); c != nil {
		t.Errorf("without calls: %+v", c)
	}
}

// TestSumsAgree checks that the sums by step and by model are the total, that parts may come in any division, and that what is
// unknown is said.
func TestSumsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := Table{"a": {1, 4, 0.25}, "b*": {0.5, 0.5, 0}, "free": {}}
		sum, unknown := 0.0, 0
		var parts []Facts
		all := Facts{}
		n := rapid.IntRange(1, 30).Draw(t, "calls")
		for range n {
			step := rapid.SampledFrom([]string{"rollout", "score", "validation/rollout"}).Draw(t, "step")
			model := rapid.SampledFrom([]string{"a", "b", "b.calls", "b\n.x", "free", "none", ""}).Draw(t, "model")
			prompt, completion := rapid.Int64Range(0, 5000).Draw(t, "prompt"), rapid.Int64Range(0, 500).Draw(t, "completion")
			cached := rapid.Int64Range(0, 5000).Draw(t, "cached")
			if all[step] == nil {
				all[step] = map[string]float64{}
			}
			Call(all[step], model, prompt, completion, cached)
			parts = append(parts, Facts{step: Call(nil, model, prompt, completion, cached)})
			p, priced := table.Of(model)
			if !priced || prompt == 0 || cached > prompt {
				unknown++
				continue
			}
			sum += (float64(prompt-cached)*p.Input + float64(cached)*p.Cached + float64(completion)*p.Output) / 1e6
		}
		for _, c := range []*Cost{table.Cost(all), table.Cost(parts...)} {
			steps, models := 0.0, 0.0
			for _, v := range slices.Sorted(maps.Values(c.Steps)) {
				steps += v
			}
			for _, v := range slices.Sorted(maps.Values(c.Models)) {
				models += v
			}
			total := 0.0
			if c.Total != nil {
				total = *c.Total
			}
			for what, v := range map[string]float64{"steps": steps, "models": models, "total": total} {
				if math.Abs(v-sum) > 1e-12 {
					t.Fatalf("%s add up to %v, the calls to %v", what, v, sum)
				}
			}
			named := 0
			for _, why := range c.Unknown {
				var k, of int
				if _, err := fmt.Sscanf(why, "%d of %d", &k, &of); err != nil || of != n {
					t.Fatalf("%q of %d calls", why, n)
				}
				named += k
			}
			if text, _ := c.Text(); named != unknown || c.AtLeast != (unknown > 0) || (c.Total == nil) != (unknown == n) ||
				strings.HasPrefix(text, "at least") != (c.Total != nil && unknown > 0) {
				t.Fatalf("%d of %d calls are unknown: %s, %q", unknown, n, text, c.Unknown)
			}
		}
	})
}
