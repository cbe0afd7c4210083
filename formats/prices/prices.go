// Package prices says what calls to models cost, at the prices of the user's table and by what the facts
// of datasets count. It has no price of its own and knows no currency.
package prices

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/plural"
)

// Table has prices by model. A name that ends in * is of all models that begin so. The zero value has none.
type Table map[string]Price

// Price is what a million tokens cost. Cached is that of prompt tokens that the engine found in its cache.
type Price struct{ Input, Output, Cached float64 }

// Of returns what tokens cost; the cached ones are some of the prompt's.
func (p Price) Of(prompt, completion, cached int64) float64 {
	input, output := float64(float64(prompt-cached)*p.Input), float64(float64(completion)*p.Output)
	return (input + float64(float64(cached)*p.Cached) + output) / 1e6
}

// Help and Schema are the phrase of help on a table, and the JSON schema of an entry.
const Help = "charge `MODEL=PRICE` for a million tokens, PRICE as {\"input\":A,\"output\":B,\"cached\":C}; a MODEL that ends in * is of all that begin so"

var amount = map[string]any{"anyOf": []any{map[string]any{"type": "number", "minimum": 0, "maximum": 1e9}, map[string]any{"$ref": "#/$defs/variable"}}}
var Schema = map[string]any{"type": "object", "additionalProperties": false, "required": []string{"input", "output"},
	"properties": map[string]any{"input": amount, "output": amount, "cached": amount}}

// Parse reads a table. Without cached, such tokens cost as others of the prompt.
func Parse(entries map[string]any) (Table, error) {
	t := Table{}
	for model, entry := range entries {
		var p map[string]*float64
		data, err := json.Marshal(entry)
		if err = cmp.Or(err, json.Unmarshal(data, &p)); err == nil && len(p) == 2 {
			p["cached"] = p["input"]
		}
		bad := func(price *float64) bool { return price == nil || !(*price >= 0 && *price <= 1e9) }
		if err != nil || len(p) != 3 || bad(p["input"]) || bad(p["output"]) || bad(p["cached"]) {
			return nil, fmt.Errorf("%q: %v is no price: write {input: 0.5, output: 1.5, cached: 0.05}, numbers from 0 to 1e9; cached may be left out",
				model, cmp.Or(string(data), fmt.Sprint(entry)))
		}
		for other := range entries {
			if before, all := strings.CutSuffix(other, "*"); all && other != model && strings.HasSuffix(model, "*") && strings.HasPrefix(model, before) {
				return nil, fmt.Errorf("%q and %q: a model may begin with both; write one of them, or names in full", other, model)
			}
		}
		t[model] = Price{*p["input"], *p["output"], *p["cached"]}
	}
	return t, nil
}

// Round returns an amount in billionths: what sums of fractions add beyond is noise.
func Round(amount float64) float64 { return math.Round(amount*1e9)/1e9 + 0 } // and no -0

// Of returns the price of a model: that of its name, else of how it begins.
func (t Table) Of(model string) (Price, bool) {
	p, priced := t[model]
	for end := len(model); end >= 0 && !priced; end-- {
		p, priced = t[model[:end]+"*"]
	}
	return p, priced
}

// Call adds to facts a call that used so many tokens, as the engine said, and returns them. None, or impossible ones,
// are unknown.
func Call(facts map[string]float64, model string, prompt, completion, cached int64) map[string]float64 {
	if facts == nil {
		facts = map[string]float64{}
	}
	counts := map[string]int64{"prompt_tokens": prompt, "completion_tokens": completion, "cached_tokens": cached, "calls": 1}
	if prompt <= 0 || completion < 0 || cached < 0 || cached > prompt {
		counts = map[string]int64{"unknown_calls": 1, "calls": 1}
	}
	for name, n := range counts {
		facts[Prefix+model+"."+name] += float64(n)
	}
	return facts
}

// Prefix is how facts about calls to a model begin, before its name.
const Prefix = "models."

// Unmetered is the fact that counts the trajectories for which something may have made calls that nothing records.
func Unmetered(who string) string { return Prefix + who + ".unmetered" }

var named = regexp.MustCompile(`(?s)^models\.(.*)\.(\w+)$`)

// Count adds to facts the calls of an attempt. Those that a fork repeats cost nothing. An earlier attempt, or one
// without a recorded call, is an unknown call of no recorded model.
func Count(facts map[string]float64, t *formats.Trajectory) {
	for i := range t.Calls {
		switch c := &t.Calls[i]; {
		case t.Repeats(i):
			facts[Prefix+c.Model+".calls"]++
		case c.Error != "" || c.Settings().NoUsage: // its tokens are an estimate
			Call(facts, c.Model, 0, 0, 0)
		default:
			Call(facts, c.Model, int64(c.PromptTokens), int64(c.CompletionTokens), int64(c.CachedTokens))
		}
	}
	if t.Attempts > 1 || t.Diverged != "" || len(t.Calls) == 0 && t.Status != outcomes.StatusSkipped {
		Call(facts, "", 0, 0, 0)
	}
}

// Sum returns what the calls in facts cost as far as it is known, and whether all of it is.
func (t Table) Sum(facts map[string]float64) (known float64, all bool) {
	c := t.Cost(Facts{"": facts})
	if c == nil || c.Total == nil {
		return 0, false
	}
	return *c.Total, !c.AtLeast
}

// Cost is what calls cost, as far as that is known.
type Cost struct {
	Total   *float64           `json:"total"`    // null if nothing is known
	AtLeast bool               `json:"at_least"` // something is not known
	Steps   map[string]float64 `json:"steps"`    // those of which something is known, as Models
	Models  map[string]float64 `json:"models"`
	Unknown []string           `json:"unknown,omitempty"` // what is not known, and why
}

// Facts are those of datasets, by step.
type Facts map[string]map[string]float64

// Cost returns the sum of what steps cost; nil without prices or calls. Facts of earlier versions name no models.
func (t Table) Cost(parts ...Facts) *Cost {
	c, calls, missing := &Cost{Steps: map[string]float64{}, Models: map[string]float64{}}, 0.0, map[string]float64{}
	unmetered := map[string]float64{}
	for _, part := range parts {
		for _, step := range slices.Sorted(maps.Keys(part)) {
			facts := part[step]
			unnamed := facts["calls"] + facts["judge.calls"] + facts["judge.known"]
			for _, name := range slices.Sorted(maps.Keys(facts)) {
				of := named.FindStringSubmatch(name)
				if of == nil || facts[name] == 0 {
					continue
				}
				model, what := of[1], of[2]
				p, priced := t.Of(model)
				switch who := cmp.Or(model, "calls of which no model is recorded"); {
				case what == "unmetered":
					unmetered[model] += facts[name]
				case what == "calls":
					if calls, unnamed = calls+facts[name], unnamed-facts[name]; !priced {
						missing["no price for "+who] += facts[name]
					}
				case priced && what == "unknown_calls":
					missing["no usage recorded of "+who] += facts[name]
				case priced:
					price := map[string]float64{"prompt_tokens": p.Input, "completion_tokens": p.Output, "cached_tokens": p.Cached - p.Input}[what]
					money := facts[name] * price / 1e6
					c.Total = new(Round(*cmp.Or(c.Total, new(float64)) + money))
					c.Steps[step], c.Models[model] = Round(c.Steps[step]+money), Round(c.Models[model]+money)
				}
			}
			if unnamed > 0 {
				missing["no model recorded"], calls = missing["no model recorded"]+unnamed, calls+unnamed
			}
		}
	}
	for _, why := range slices.Sorted(maps.Keys(missing)) {
		c.AtLeast, c.Unknown = true, append(c.Unknown, fmt.Sprintf("%.0f of %s: %s", missing[why], plural.Of(calls, "call"), why))
	}
	for _, who := range slices.Sorted(maps.Keys(unmetered)) {
		c.AtLeast, c.Unknown = true, append(c.Unknown, fmt.Sprintf("what %s may have asked of models, for %s",
			who, plural.Of(unmetered[who], "trajectory")))
	}
	if len(t) == 0 || calls == 0 {
		return nil
	}
	return c
}

// Text returns the total, and its parts by step and by model with what is not known; "" for nil.
func (c *Cost) Text() (total, parts string) {
	if c == nil {
		return "", ""
	}
	var list []string
	for _, by := range []map[string]float64{c.Steps, c.Models} {
		for _, name := range slices.Sorted(maps.Keys(by)) {
			list = append(list, fmt.Sprintf("%s %.4g", name, by[name]))
		}
	}
	if total = "unknown"; c.Total != nil {
		total = map[bool]string{true: "at least "}[c.AtLeast] + fmt.Sprintf("%.4g", *c.Total)
	}
	return total, strings.Join(append(list, c.Unknown...), ", ")
}
