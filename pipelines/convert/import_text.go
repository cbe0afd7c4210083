package convert

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/plural"
)

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
	r.Merged.write(w)
	table(w, "cannot be represented", r.Losses)
	r.writeMembers(w)
	table(w, "left out: they hold an end user's id, name or address (--keep-metadata NAME keeps one)", r.LeftOut)
	for _, name := range r.Unkept {
		fmt.Fprintf(w, "--keep-metadata %s: no record has such a member that would be left out\n", name)
	}
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
