package convert

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/formats/redaction"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/stages"
)

// ImportReport describes what import did.
type ImportReport struct {
	stages.Report
	Source
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
	Nulls    int64              `json:"nulls_dropped,omitempty"` // members that Parquet, Arrow or datasets gave to objects of other rows
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

// WriteText writes the report for people.
func (r *Source) WriteText(w io.Writer) error {
	r.writeSource(w)
	return r.Checks.WriteText(w)
}

// WriteSummary writes the report without what to do about each finding.
func (r *Source) WriteSummary(w io.Writer) error {
	r.writeSource(w)
	return r.Checks.WriteSummary(w)
}

// writeSource writes what became of the records.
func (r *Source) writeSource(w io.Writer) {
	text := plural.Of(r.Records, "record")
	if r.RefusedRecords > 0 {
		text += fmt.Sprintf(", %d without a trajectory", r.RefusedRecords)
	}
	if r.BrokenFiles > 0 {
		text += "; " + plural.Of(r.BrokenFiles, "file") + " not read to the end"
	}
	fmt.Fprintln(w, text)
	for _, x := range r.Refused {
		fmt.Fprintf(w, "  %s: %s: %s\n", x.File, x.Place, x.Reason)
		if x.Hint != "" {
			fmt.Fprintf(w, "    hint: %s\n", x.Hint)
		}
	}
	if n := r.RefusedRecords + r.BrokenFiles - int64(len(r.Refused)); n > 0 {
		fmt.Fprintf(w, "  and %d more\n", n)
	}
	table(w, "cannot be represented", r.Losses)
	r.writeMembers(w)
	if r.Nulls > 0 {
		fmt.Fprintf(w, "left out: %s that Parquet, Arrow or datasets added to objects of other rows\n", plural.Of(r.Nulls, "null"))
	}
	if r.Redacted.Rows > 0 {
		fmt.Fprintf(w, "redacted: %s\n", r.Redacted)
	}
}

// writeMembers writes the account of members, without those of which the line around them
// says all.
func (r *Source) writeMembers(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, m := range r.Members {
		if i == 0 {
			fmt.Fprintln(t, "records\ttype\tmember\twhat became of it")
		}
		if !m.Within {
			value := ""
			if m.Value != "" {
				value = ": " + m.Value
			}
			fmt.Fprintf(t, "%d\t%s\t%s\t%s%s\n", m.Records, m.Type, m.Path, m.Became, value)
		}
	}
	_ = t.Flush() // writes to w do not fail
	if len(r.Members) >= importers.MaxPaths {
		fmt.Fprintln(w, "and others")
	}
}

func table(w io.Writer, heading string, counts map[string]int64) {
	if len(counts) == 0 {
		return
	}
	fmt.Fprintln(w, heading)
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(w, "  %8d  %s\n", counts[name], name)
	}
}

func report(result shards.Result, outcome shards.Outcome) stages.Report {
	r := stages.Report{
		Stage: stage, URI: result.URI, Identity: result.Identity, UpToDate: result.UpToDate, Missing: result.Missing,
		Rows: result.Rows, Counts: outcome.Counts, Failures: outcome.Failures, Facts: outcome.Facts,
	}
	if m := result.Sealed; m != nil {
		r.Sealed, r.Rows, r.RowsDigest, r.Counts, r.Failures, r.Facts = true, m.Rows, m.RowsDigest.String(), m.Counts, m.Failures, m.Facts
	}
	r.Message = plural.Of(r.Rows, "trajectory")
	for _, x := range []struct{ fact, text string }{
		{factRefused, "%s dropped"}, {factLosses, "%s dropped"}, {factRedactions, "%s"}, {factPairs, "%s"},
		{factLabels, "%s"},
	} {
		if n := int64(r.Facts[x.fact]); n > 0 {
			r.Message += "; " + fmt.Sprintf(x.text, plural.Of(n, nouns[x.fact]))
		}
	}
	return r
}

// nouns are the words for facts in messages.
var nouns = map[string]string{factRefused: "record", factLosses: "part", factRedactions: "redaction", factPairs: "preference",
	factLabels: "label"}
