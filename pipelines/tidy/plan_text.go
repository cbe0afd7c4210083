package tidy

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/rollmill/rollmill/formats/plural"
)

// note says what is lost with the datasets of each stage, and which epochs no reward
// was compared of.
func (p *Plan) note(o PruneOptions, r *root) {
	lost := map[string]string{
		"rollout": "the conversations and tokens of these epochs are gone; the report's figures, explain and what was " +
			"trained on stay",
		"score":  "the rewards of these epochs leave the report",
		"group":  "the groups of these epochs leave the report, and explain shows no advantages",
		"curate": "what these epochs trained on is gone, and so are their kept trajectories in the report",
	}
	for _, stage := range Stages {
		if slices.ContainsFunc(p.Removed, func(i Item) bool { return i.stage == stage }) {
			p.Notes = append(p.Notes, stage+": "+lost[stage])
		}
	}
	if r.denied != nil {
		p.Notes = append(p.Notes, "nothing can be written here, so files are as old as this machine's clock says")
	}
	if len(r.unrated) > 0 {
		p.Notes = append(p.Notes,
			"--keep-best compares mean rewards, of validations if the run has any; epoch "+strings.Join(r.unrated, ", ")+
				" has none")
	}
	if o.Force && slices.ContainsFunc(p.Removed, func(i Item) bool { return i.stage != "" }) {
		p.Notes = append(p.Notes,
			"--force: datasets that others refer to, or that curate or submit has not read, are removed as well")
	}
}

// WriteText prints what was or would be removed, and what was kept although a
// rule would remove it.
func (p *Plan) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	word := "would remove"
	if p.Applied {
		word = "removed"
	}
	for _, i := range p.Removed {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s: %s\n", word, plural.Bytes(i.Bytes), plural.Of(i.Files, "file"), i.URI,
			i.What, i.Why)
	}
	for _, k := range p.Kept {
		forced := ""
		if k.Forced {
			forced = " (--force removes it)"
		}
		fmt.Fprintf(t, "kept\t\t\t%s\t%s%s\n", k.URI, k.Why, forced)
	}
	for _, text := range p.Problems {
		fmt.Fprintf(t, "problem\t\t\t%s\n", text)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, text := range p.Notes {
		fmt.Fprintln(w, text)
	}
	_, err := fmt.Fprintf(w, "%s %s in %s\n", word, plural.Bytes(p.Bytes), plural.Of(p.Files, "file"))
	if err == nil && !p.Applied && p.Files > 0 {
		_, err = fmt.Fprintln(w, "nothing was changed: --apply removes them")
	}
	return err
}
