package tidy

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rollmill/rollmill/storage"
)

// PruneOptions select what is removed from a run. Without a rule, only what killed
// writers left is.
type PruneOptions struct {
	Root string // URI of the run's folder

	// An epoch that one of these keeps is kept; 0 keeps none.
	KeepEpochs int // the last epochs
	KeepEvery  int // those that it divides
	KeepBest   int // those with the best rewards

	Drop  []string      // the stages whose datasets an old epoch loses; see Stages
	Grace time.Duration // what was written later, by the store's clock, stays
	Force bool          // remove what is protected for a reason that Kept.Forced names

	Rewards func(context.Context) (map[int]float64, error) // by epoch, for KeepBest

	later time.Duration // a test's: how long ago everything was written
}

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

// Look returns what would be removed. It changes nothing, but writes and removes an
// object to learn the store's time.
func Look(ctx context.Context, o PruneOptions) (*Plan, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	r, err := look(ctx, o)
	if err != nil {
		return nil, err
	}
	keep, err := o.epochs(ctx, r)
	if err != nil {
		return nil, err
	}
	p := &Plan{Root: storage.Redact(o.Root), Removed: []Item{}, Kept: []Kept{}, Problems: r.problems, denied: r.denied}
	p.leftovers(o, r)
	p.datasets(o, r, keep)
	p.temporary(r)
	p.note(o, r)
	for _, i := range p.Removed {
		p.Files += i.Files
		p.Bytes += i.Bytes
	}
	return p, nil
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

// leftovers adds what killed writers and an interrupted prune left.
func (p *Plan) leftovers(o PruneOptions, r *root) {
	for _, f := range r.folders {
		rest := item(f.uri, whatRest, "an earlier prune was interrupted", f.Rest)
		left := item(f.uri, whatLeft, "no rows of a dataset are in them", slices.Concat(f.Parts, f.Records, f.Journals))
		begun := item(f.uri, whatBegun, "--force: a command that did not finish, with rows that are in no dataset", f.Begun)
		switch {
		case rest.Files+left.Files+begun.Files == 0:
			continue
		case r.busy(o, f):
			p.keep(f, "a command is writing there", false)
			continue
		}
		rest.remove = f.Clean
		left.remove = f.Clean
		begun.remove = f.Abandon
		if begun.Files > 0 && !o.Force {
			p.keep(f, "a command began to write there and did not finish; its rows may have cost money", true)
			begun.Files = 0
		}
		p.add(rest, left, begun)
	}
}

func (p *Plan) temporary(r *root) {
	i := item(p.Root, whatTemp, "of killed commands", r.temporary)
	i.remove = func(ctx context.Context) error {
		for _, o := range r.temporary {
			if err := r.bucket.RemoveAbandoned(ctx, o.Key); err != nil {
				return err
			}
		}
		return nil
	}
	p.add(i)
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

// alive is how long after its last write a command counts as running, whatever
// the grace: a rollout renews its lease every few seconds.
const alive = 5 * time.Minute

func (r *root) busy(o PruneOptions, f *folder) bool {
	return f.Active.After(r.now.Add(-max(o.Grace, alive)))
}
