package convert

import (
	"fmt"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/formats/prices"
	"github.com/rollmill/rollmill/formats/redaction"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/stages"
)

// ImportReport describes what import did.
type ImportReport struct {
	stages.Report
	Source
	New *NightReport `json:"new,omitempty"` // nil unless only what is new was imported
}

// Source describes what was read. The records and files are those of the whole
// source, the other figures those of the shard. Of a dataset that is up to date,
// whose source was not read again, only the counts of records are known.
type Source struct {
	Records        int64            `json:"records"`
	RefusedRecords int64            `json:"refused_records"`   // that give no trajectory
	BrokenFiles    int64            `json:"broken_files"`      // that cannot be read, or not to the end
	Refused        []Refusal        `json:"refused,omitempty"` // the first of these records and files
	Losses         map[string]int64 `json:"losses,omitempty"`  // parts that no row can hold, by field and reason
	Redacted       redaction.Counts `json:"redacted,omitzero"`
	Checks         validate.Report  `json:"lint,omitzero"`

	Withheld int64              `json:"withheld,omitempty"`      // members with the name of a secret
	LeftOut  map[string]int64   `json:"left_out,omitempty"`      // of a log: members about end users, by name
	Unkept   []string           `json:"not_kept,omitempty"`      // names of --keep-metadata that none of them has
	Nulls    int64              `json:"nulls_dropped,omitempty"` // members that Parquet, Arrow or datasets gave to objects of other rows
	Merged   *Merged            `json:"merged,omitempty"`        // nil unless calls were merged
	Members  []importers.Member `json:"members,omitempty"`       // of the whole source: what became of each
}

// Complete reports whether an import without losses takes the whole source.
func (r *Source) Complete() bool {
	return r.RefusedRecords == 0 && r.BrokenFiles == 0 && len(r.Losses) == 0
}

// Refusal is a record that gives no trajectory, or a file that cannot be read.
type Refusal struct {
	File   string `json:"file"`
	Place  string `json:"place"` // line 3, record 2, ...; file for all that follows in it
	Reason string `json:"reason"`
	Hint   string `json:"hint,omitempty"`
}

func report(result shards.Result, outcome shards.Outcome) stages.Report {
	r := stages.Report{
		Stage: stage, URI: result.URI, Identity: result.Identity, UpToDate: result.UpToDate, Missing: result.Missing,
		Rows: result.Rows, Counts: outcome.Counts, Failures: outcome.Failures, Facts: outcome.Facts,
	}
	if m := result.Sealed; m != nil {
		r.Sealed, r.Rows, r.RowsDigest, r.Counts, r.Failures, r.Facts = true, m.Rows, m.RowsDigest.String(),
			m.Counts, m.Failures, m.Facts
	}
	r.Message = plural.Of(r.Rows, "trajectory")
	for _, x := range []struct{ fact, text string }{
		{factRefused, "%s dropped"}, {factLosses, "%s dropped"}, {factRedactions, "%s"}, {factPairs, "%s"},
		{factLabels, "%s"}, {factMergedCalls, "from %s"}, {factAmbiguous, "%s"}, {factGaps, "%s"},
	} {
		if n := int64(r.Facts[x.fact]); n > 0 {
			r.Message += "; " + fmt.Sprintf(x.text, plural.Of(n, nouns[x.fact]))
		}
	}
	return r
}

// nouns are the words for facts in messages.
var nouns = map[string]string{factRefused: "record", factLosses: "part", factRedactions: "redaction", factPairs: "preference",
	factLabels: "label", factMergedCalls: "call", factAmbiguous: "ambiguous call", factGaps: "gap"}

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
	prices.Count(facts, t)
}
