package convert

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages"
)

// The facts of an import.
const (
	factRecords     = "records"          // of the source, in all shards
	factRefused     = "refused"          // records that were dropped, in all shards
	factLosses      = "losses"           // parts of the shard's rows that were dropped
	factRedactions  = "redactions"       // texts of the shard's rows that were removed
	factPairs       = "pairs"            // preferences of the source
	factLabels      = "labels"           // labels of the source
	factMergedCalls = "merged_calls"     // rows that were calls, in all shards
	factCopies      = "merged_copies"    // of them that are copies of others
	factTries       = "merged_tries"     // of them that are earlier tries of others
	factAmbiguous   = "merged_ambiguous" // calls that several attempts could have made
	factGaps        = "merged_gaps"      // trajectories that begin after a call that is missing
	factUnpaired    = "pairs_unfit"      // preferences whose prompts differ, which _pairs cannot hold
)

// totals counts the rows by status and failure class, and adds up their calls.
type totals struct {
	counts, failures                   map[string]int64
	prompt, completion, sampled, calls int64
}

func (n *totals) add(t *formats.Trajectory) {
	stages.Count(&n.counts, t.Status, 1)
	stages.Count(&n.failures, t.FailureClass, 1)
	n.prompt += int64(t.PromptTokens)
	n.completion += int64(t.CompletionTokens)
	n.sampled += int64(t.SampledTokens)
	n.calls += int64(len(t.Calls))
}

// count adds the totals to the outcome.
func (w *writer) count() {
	n, facts := &w.totals, w.outcome.Facts
	if n.counts == nil {
		return // no rows
	}
	w.outcome.Counts, w.outcome.Failures = n.counts, n.failures
	facts["prompt_tokens"], facts["completion_tokens"] = float64(n.prompt), float64(n.completion)
	facts["sampled_tokens"], facts["calls"] = float64(n.sampled), float64(n.calls)
}
