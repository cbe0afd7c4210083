package prove

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/rollmill/rollmill/formats/receipts"
)

// WriteText writes a line for each proof, and the verdict.
func (r *Result) WriteText(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, p := range r.Proofs {
		fmt.Fprintf(table, "%s\t%d rows\t%s\n", p.Name, p.Rows, p.verdict())
	}
	fmt.Fprintf(table, "%s\n", r.Verdict())
	return table.Flush()
}

// Verdict names the first number that differs.
func (r *Result) Verdict() string {
	for _, p := range r.Proofs {
		switch {
		case p.Differs != nil:
			return fmt.Sprintf("differs: %s: %s", p.Name, p.Differs)
		case p.Damage != "":
			return fmt.Sprintf("damaged: %s: %s", p.Name, p.Damage)
		}
	}
	if !r.Equal {
		return "nothing was computed again"
	}
	return fmt.Sprintf("equal: %d of %d computed again", r.computed(), len(r.Proofs))
}

func (p *Proof) verdict() string {
	var out []string
	switch {
	case p.Differs != nil:
		out = append(out, p.Differs.String())
	case p.Damage == "" && p.Unproved == "":
		out = append(out, "equal")
	}
	if p.Damage != "" {
		out = append(out, p.Damage)
	}
	if p.Unproved != "" {
		out = append(out, "not computed again: "+p.Unproved)
	}
	if p.Trained != "" {
		out = append(out, p.Trained)
	}
	return strings.Join(out, "; ")
}

func (d *Difference) String() string {
	text := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			return fmt.Sprint(v)
		}
		return string(data)
	}
	out := fmt.Sprintf("%s is %s, computed again %s", d.Column, text(d.Stored), text(d.Computed))
	switch {
	case d.TrajectoryID != "":
		out = fmt.Sprintf("row %d, trajectory %s: %s", d.Row, d.TrajectoryID, out)
	case strings.HasPrefix(d.Column, "_") && !strings.HasPrefix(d.Column, receipts.File): // of a side table
		out = fmt.Sprintf("row %d: %s", d.Row, out)
	}
	return out
}
