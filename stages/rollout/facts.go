package rollout

import (
	"fmt"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/formats/prices"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
)

func count(o *shards.Outcome, t *formats.Trajectory) {
	stages.Count(&o.Counts, t.Status, 1)
	stages.Count(&o.Failures, t.FailureClass, 1)
	for name, n := range payloadFacts(t) {
		o.Facts[name] += n
	}
	o.Facts["prompt_tokens"] += float64(t.PromptTokens)
	o.Facts["completion_tokens"] += float64(t.CompletionTokens)
	o.Facts["sampled_tokens"] += float64(t.SampledTokens)
	if t.ForkCall != nil {
		o.Facts[factForks]++
	}
	if strings.Contains(t.Metadata, `"`+lostKey+`":`) {
		o.Facts[factLost]++
	}
	for i := range t.Calls {
		if t.Calls[i].Replayed || t.Repeats(i) {
			o.Facts[factReplayed]++
		}
	}
	if t.Diverged != "" {
		o.Facts[factDiverged+t.Diverged]++
	}
}

// Facts that are computed from the payload of a row.
const (
	factExamples     = "examples" // that have rows
	factForks        = "forks"    // only where there are some
	factLost         = "lost"     // likewise: trajectories whose agent wrote NaN or an infinity
	factCalls        = "calls"
	factAlternatives = "alternatives"    // answers that the agent did not choose: candidates, which do not train
	factAbandoned    = "abandoned_calls" // failed calls whose answer the agent did not wait for; only where there are some
	factAuxiliary    = "auxiliary_calls" // calls that do not train because they are auxiliary; only where there are some
	factFailedCalls  = "failed_calls"    // calls to the target model that failed, whether or not the agent recovered
)

// payloadFacts returns a row's facts; a row without its payload has none.
func payloadFacts(t *formats.Trajectory) map[string]float64 {
	facts := map[string]float64{factCalls: float64(len(t.Calls)), factFailedCalls: 0, factAlternatives: 0}
	prices.Count(facts, t)
	for i := range t.Candidates {
		if t.Candidates[i].Reason != "" {
			facts[factAlternatives]++
		}
	}
	for i := range t.Calls {
		if !t.Calls[i].Target && t.Calls[i].Settings().Auxiliary {
			facts[factAuxiliary]++
		}
		if t.Calls[i].Target && t.Calls[i].Error != "" {
			facts[factFailedCalls]++
			if recorder.IsAbandoned(&t.Calls[i]) {
				facts[factAbandoned]++
			}
		}
	}
	return facts
}

func report(result shards.Result, outcome shards.Outcome) stages.Report {
	r := stages.Report{
		Stage: stage, URI: result.URI, Identity: result.Identity, UpToDate: result.UpToDate, Missing: result.Missing,
		Rows: result.Rows, Counts: outcome.Counts, Failures: outcome.Failures, Facts: outcome.Facts,
	}
	m := result.Sealed
	if m != nil {
		r.Sealed, r.Rows, r.RowsDigest, r.Counts, r.Failures, r.Facts = true, m.Rows, m.RowsDigest.String(),
			m.Counts, m.Failures, m.Facts
	}
	r.Message = fmt.Sprintf("%s, %d failed", plural.Of(r.Rows, "trajectory"), r.Counts[outcomes.StatusFailed])
	if m == nil {
		return r
	}
	if added, extended := m.Facts[factAdded]; extended {
		r.Message += fmt.Sprintf("; %.0f of them new, %.0f of these failed", added, m.Facts[factAddedFailed])
	}
	if n := m.Facts[factMixed]; n > 0 {
		r.Message += "; " + plural.Of(n, "group") + " of more than one policy version"
	}
	if n := m.Facts[factAlternatives]; n > 0 {
		r.Message += fmt.Sprintf("; %.0f answers that the agent did not choose are candidates and do not train", n)
	}
	if n := m.Facts[factAuxiliary]; n > 0 {
		r.Message += "; " + plural.Of(n, "auxiliary call") + ", without tools beside calls with tools, not trained"
	}
	if n := m.Facts[factFailedCalls]; n > 0 {
		r.Message += fmt.Sprintf("; %.0f calls failed at the engine", n)
	}
	if n := m.Facts[factLost]; n > 0 {
		r.Message += fmt.Sprintf("; the agent wrote NaN or an infinity in %s: %s in metadata names what is null for it",
			plural.Of(n, "trajectory"), lostKey)
	}
	return r
}
