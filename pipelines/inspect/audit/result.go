package audit

import (
	"fmt"
	"io"
	"strings"

	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/pipelines/inspect/audit/witness"
)

// Result is the result of an audit.
type Result struct {
	Datasets   []Dataset          `json:"datasets"`
	Mismatches []Mismatch         `json:"mismatches,omitempty"` // of each scores dataset, if it was asked for
	Witness    *witness.Facts     `json:"witness,omitempty"`    // what was compared with a second record, if there is one
	Findings   []validate.Finding `json:"findings"`             // by severity, the worst first, then by dataset and check
}

// Dataset is a dataset that was read.
type Dataset struct {
	URI  string      `json:"uri"`
	Kind schema.Kind `json:"kind"`
	Rows int64       `json:"rows"`
}

// Worst returns the severity of the worst finding, or "".
func (a *Result) Worst() validate.Severity {
	if len(a.Findings) == 0 {
		return ""
	}
	return a.Findings[0].Severity
}

// WriteText writes the findings as text.
func (a *Result) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, f := range a.Findings {
		writeFinding(&b, &f)
	}
	for i, m := range a.Mismatches {
		if i == 0 || m.URI != a.Mismatches[i-1].URI {
			fmt.Fprintf(&b, "%s\n  %-30s %10s %9s %9s %9s\n", m.URI, "", "tokens", "ratio", "KL", "worst")
		}
		fmt.Fprintf(&b, "  %-30s %10d %9.5f %9.2g %9.2g\n", m.Of, m.Tokens, m.Ratio, m.KL, m.Worst)
	}
	if a.Witness != nil {
		b.WriteString(a.Witness.String())
	}
	rows := int64(0)
	for _, d := range a.Datasets {
		rows += d.Rows
	}
	fmt.Fprintf(&b, "%s of %s read: %s\n", plural.Of(rows, "row"), plural.Of(len(a.Datasets), "dataset"), a.verdict())
	_, err := io.WriteString(w, b.String())
	return err
}

func writeFinding(b *strings.Builder, f *validate.Finding) {
	fmt.Fprintf(b, "%-7s  %s (%s)  %s\n         ", f.Severity, f.Check, f.Basis, f.URI)
	switch {
	case f.Count > 0 && f.Of > 0:
		fmt.Fprintf(b, "%d of %d ", f.Count, f.Of)
	case f.Count > 0:
		fmt.Fprintf(b, "%d: ", f.Count)
	}
	fmt.Fprintf(b, "%s\n", f.What)
	for _, p := range f.First {
		b.WriteString("         " + p.String() + "\n")
	}
	b.WriteString("\n")
}

// verdict returns the number of findings by severity.
func (a *Result) verdict() string {
	var parts []string
	for _, s := range validate.Severities {
		n := 0
		for _, f := range a.Findings {
			if f.Severity == s {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, plural.Of(n, string(s)))
		}
	}
	if parts == nil {
		return "nothing found"
	}
	return strings.Join(parts, ", ")
}
