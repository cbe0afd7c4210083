package tidy

import (
	"context"
	"slices"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
)

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
	if o.Workspaces {
		p.workspaces(o, r)
	}
	p.temporary(r)
	p.note(o, r)
	for _, i := range p.Removed {
		p.Files += i.Files
		p.Bytes += i.Bytes
	}
	return p, nil
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

// workspaces adds those of the datasets that stay.
func (p *Plan) workspaces(o PruneOptions, r *root) {
	for _, f := range r.folders {
		uri := storage.Redact(f.uri)
		if f.Manifest == nil || slices.ContainsFunc(p.Removed, func(i Item) bool { return i.URI == uri && i.What == whatDataset }) {
			continue
		}
		parts := slices.DeleteFunc(slices.Clone(f.Objects), func(x storage.Object) bool {
			return !slices.ContainsFunc(f.Manifest.PartsOf(schema.TableWorkspaces),
				func(p manifest.Part) bool { return p.Name == x.Key })
		})
		if len(parts) > 0 && r.busy(o, f) {
			p.keep(f, "a command is writing there", false)
			continue
		}
		i := item(f.uri, whatSpaces, "--workspaces: the rows stay", parts)
		i.remove = func(ctx context.Context) error { return f.RemoveWorkspaces(ctx, parts, r.now) }
		p.add(i)
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
