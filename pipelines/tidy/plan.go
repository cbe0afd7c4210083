package tidy

import (
	"context"
	"errors"
	"slices"

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
