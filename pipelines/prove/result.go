package prove

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/rollmill/rollmill/formats/receipts"
)

// Result is what was computed again.
type Result struct {
	URI    string   `json:"uri"`
	Equal  bool     `json:"equal"`  // something was computed again, and nothing of it differs
	Proofs []*Proof `json:"proofs"` // each after those that it was made from
}

// Proof is what was found of a dataset, a receipt or a file of a trainer.
type Proof struct {
	Name     string      `json:"name"` // relative to the result's URI
	Rows     int64       `json:"rows"`
	Differs  *Difference `json:"differs,omitempty"`  // the first
	Damage   string      `json:"damage,omitempty"`   // how the bytes are not those of its manifest
	Unproved string      `json:"unproved,omitempty"` // why it was not computed again
	Trained  string      `json:"trained,omitempty"`  // of a receipt: where, and in which steps
}

// Difference is a number that is not what follows from what it was made of.
type Difference struct {
	Row          int64  `json:"row"`
	TrajectoryID string `json:"trajectory_id,omitempty"`
	Column       string `json:"column"`
	Stored       any    `json:"stored"`
	Computed     any    `json:"computed"`
}

// computed returns how many of them were computed again.
func (r *Result) computed() (n int) {
	for _, p := range r.Proofs {
		if p.Unproved == "" && p.Damage == "" {
			n++
		}
	}
	return n
}

func (p *Proof) wrong() bool { return p.Differs != nil || p.Damage != "" }

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
