package tidy

import (
	"cmp"
	"context"
	"path"
	"slices"

	"github.com/rollmill/rollmill/formats/dataset/runroot"
	"github.com/rollmill/rollmill/storage"
)

// datasets adds the datasets of old epochs: those made from others first, so that
// a process that dies leaves no thin dataset of a base that is gone for no need.
func (p *Plan) datasets(o PruneOptions, r *root, keep func(int) bool) {
	var old []*folder
	for _, f := range r.folders {
		if f.Manifest != nil && !keep(f.epoch) && slices.Contains(o.Drop, f.stage) {
			old = append(old, f)
		}
	}
	for _, why := range []func(*folder) (string, bool){
		func(f *folder) (string, bool) { return r.waiting[f.epoch], false },
		func(f *folder) (string, bool) {
			return map[bool]string{true: "a command is writing there"}[r.busy(o, f)], false
		},
		func(f *folder) (string, bool) {
			return map[bool]string{true: "a command began to replace it and did not finish"}[len(f.Begun) > 0], true
		},
		func(f *folder) (string, bool) { return r.unused(f), true },
		func(f *folder) (string, bool) { return r.wanted(f, old), true },
	} {
		old = slices.DeleteFunc(old, func(f *folder) bool {
			text, forced := why(f)
			if text == "" || forced && o.Force {
				return false
			}
			p.keep(f, text, forced)
			return true
		})
	}
	slices.SortStableFunc(old, func(a, b *folder) int {
		return cmp.Or(cmp.Compare(a.epoch, b.epoch), slices.Index(Stages, b.stage)-slices.Index(Stages, a.stage))
	})
	for _, f := range old {
		i := item(f.uri, whatDataset, o.rule(), f.Objects)
		i.stage = f.stage
		i.remove = func(ctx context.Context) error { return f.Prune(ctx, o.rule(), r.now) }
		p.Removed = append(p.Removed, i)
	}
}

// unused returns why a later stage still needs a dataset, or "".
func (r *root) unused(f *folder) string {
	dir := path.Dir(f.key)
	after := readers[f.stage]
	if path.Base(dir) == "validation" { // ends with score
		if after = "score"; f.stage == after {
			return ""
		}
	}
	if !r.receipts[path.Join(dir, after)] && !r.has(path.Join(dir, after)) {
		return after + " has not read it yet"
	}
	if f.stage == "curate" && !r.has(path.Join(runroot.EpochFolder(f.epoch+1), f.stage)) {
		return "the next epoch continues its curriculum"
	}
	return ""
}

// has reports whether there is, or was before it was pruned, a dataset.
func (r *root) has(key string) bool {
	return slices.ContainsFunc(r.folders, func(f *folder) bool { return f.key == key })
}

// wanted returns why another dataset needs the payload of this one, or "". The
// thin datasets of its own epoch keep their figures without it.
func (r *root) wanted(f *folder, old []*folder) string {
	for _, other := range r.folders {
		if other.Manifest != nil && f.Manifest.Is(other.Manifest.Base) && other.epoch != f.epoch &&
			!slices.Contains(old, other) {
			return "it is the base of " + storage.Redact(other.uri)
		}
	}
	return ""
}
