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

// count adds a row to the outcome: by status and failure class, and its calls.
func (w *writer) count(t *formats.Trajectory) {
	stages.Count(&w.outcome.Counts, t.Status, 1)
	stages.Count(&w.outcome.Failures, t.FailureClass, 1)
	facts := w.outcome.Facts
	facts["prompt_tokens"] += float64(t.PromptTokens)
	facts["completion_tokens"] += float64(t.CompletionTokens)
	facts["sampled_tokens"] += float64(t.SampledTokens)
	facts["calls"] += float64(len(t.Calls))
}
