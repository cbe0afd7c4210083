package tidy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/storage"
)

// Item is something to remove.
type Item struct {
	URI   string `json:"uri"`
	What  string `json:"what"`
	Why   string `json:"why"`
	Files int    `json:"files"`
	Bytes int64  `json:"bytes"`

	stage  string // of a dataset of an old epoch
	remove func(context.Context) error
}

// What an Item is.
const (
	whatDataset = "dataset"
	whatRest    = "rest of a pruned dataset"
	whatLeft    = "left by killed commands or by compact"
	whatBegun   = "begun by another command"
	whatTemp    = "temporary files"
	whatSpaces  = "workspaces of attempts"
)

// Kept is something that a rule would remove but that is protected.
type Kept struct {
	URI    string `json:"uri"`
	Why    string `json:"why"`
	Forced bool   `json:"force_removes"` // Force would remove it
}

// Plan is what is, or was, removed from a run.
type Plan struct {
	Root     string   `json:"root"`
	Applied  bool     `json:"applied"`
	Files    int      `json:"files"`
	Bytes    int64    `json:"bytes"`
	Removed  []Item   `json:"removed"` // to be removed, until it is applied
	Kept     []Kept   `json:"kept"`
	Notes    []string `json:"notes,omitempty"`
	Problems []string `json:"problems,omitempty"` // datasets that cannot be read; nothing of them is removed

	denied error // writing; the plan is by this machine's clock and is not applied
}

// Apply removes what the plan says. A dataset that another process changed since Look is kept.
func (p *Plan) Apply(ctx context.Context) error {
	if p.denied != nil {
		return p.denied
	}
	p.Applied = true
	all := p.Removed
	p.Removed, p.Files, p.Bytes = []Item{}, 0, 0
	for _, i := range all {
		err := i.remove(ctx)
		if errors.Is(err, storage.ErrChanged) {
			p.Kept = append(p.Kept, Kept{URI: i.URI, Why: "another command changed it meanwhile"})
			continue
		}
		if err != nil {
			return err
		}
		p.Removed = append(p.Removed, i)
		p.Files += i.Files
		p.Bytes += i.Bytes
	}
	return nil
}

// add adds items, but for those without files.
func (p *Plan) add(items ...Item) {
	p.Removed = append(p.Removed, slices.DeleteFunc(items, func(i Item) bool { return i.Files == 0 })...)
}

func (p *Plan) keep(f *folder, why string, forced bool) {
	if k := (Kept{URI: storage.Redact(f.uri), Why: why, Forced: forced}); !slices.Contains(p.Kept, k) {
		p.Kept = append(p.Kept, k)
	}
}

func item(uri, what, why string, objects []storage.Object) Item {
	i := Item{URI: storage.Redact(uri), What: what, Why: why, Files: len(objects)}
	for _, o := range objects {
		i.Bytes += o.Size
	}
	return i
}

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
