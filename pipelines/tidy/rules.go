package tidy

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/dataset/runroot"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// readers maps the stages whose datasets can be removed to the last stage of their
// epoch that reads them.
var readers = map[string]string{"rollout": "curate", "score": "curate", "group": "curate", "curate": "submit"}

// Stages are the stages whose datasets can be removed, in the order of the data.
var Stages = []string{"rollout", "score", "group", "curate"}

func (o PruneOptions) check() error {
	for name, n := range map[string]int{"--keep-epochs": o.KeepEpochs, "--keep-every": o.KeepEvery,
		"--keep-best": o.KeepBest} {
		if n < 0 {
			return fault.Errorf(fault.Usage, "0 is no rule", "%s %d is negative", name, n)
		}
	}
	if o.Grace < 0 {
		return fault.Errorf(fault.Usage, "24h is a day", "--grace %s is negative", o.Grace)
	}
	for _, stage := range o.Drop {
		if readers[stage] == "" {
			return fault.Errorf(fault.Usage, "name some of "+strings.Join(Stages, ", ")+"; receipts are never removed",
				"--drop %q is no stage whose datasets can be removed", stage)
		}
	}
	return nil
}

// rule returns the rules as the user gave them, or "" for none.
func (o PruneOptions) rule() string {
	var out []string
	for _, r := range []struct {
		name string
		n    int
	}{{"--keep-epochs", o.KeepEpochs}, {"--keep-every", o.KeepEvery}, {"--keep-best", o.KeepBest}} {
		if r.n > 0 {
			out = append(out, fmt.Sprintf("%s %d", r.name, r.n))
		}
	}
	return strings.Join(out, " ")
}

// epochs returns which epochs to keep: those that a rule keeps, and the newest.
// For no rule it is all of them.
func (o PruneOptions) epochs(ctx context.Context, r *root) (func(int) bool, error) {
	if o.rule() == "" {
		return func(int) bool { return true }, nil
	}
	if r.newest < 0 {
		return nil, fault.Invalid(storage.Redact(o.Root), "name the run's folder, the one that holds epoch-0", nil,
			"%s needs epochs, and there are none", o.rule())
	}
	keep, have := map[int]bool{-1: true, r.newest: true}, map[int]bool{}
	trained := -1 // the last epoch with more than a validation, which follows the last training
	for _, f := range r.folders {
		have[f.epoch] = true
		if !strings.Contains(f.key, "/validation/") {
			trained = max(trained, f.epoch)
		}
	}
	delete(have, -1)
	order := slices.Sorted(maps.Keys(have))
	last := slices.DeleteFunc(slices.Clone(order), func(e int) bool { return e > trained })
	for _, e := range last[max(0, len(last)-max(o.KeepEpochs, 1)):] {
		keep[e] = true
	}
	for _, e := range order {
		keep[e] = keep[e] || o.KeepEvery > 0 && e%o.KeepEvery == 0
	}
	if o.KeepBest > 0 {
		rewards, err := o.Rewards(ctx)
		if err != nil {
			return nil, err
		}
		for _, e := range best(rewards, o.KeepBest) {
			keep[e] = true
		}
		for _, e := range order {
			if _, has := rewards[e]; !has {
				r.unrated = append(r.unrated, fmt.Sprint(e))
			}
		}
	}
	return func(e int) bool { return keep[e] }, nil
}

// best returns the epochs with the n highest rewards; of equal ones the latest.
func best(rewards map[int]float64, n int) []int {
	order := slices.SortedFunc(maps.Keys(rewards), func(a, b int) int {
		return cmp.Or(cmp.Compare(rewards[b], rewards[a]), cmp.Compare(b, a))
	})
	return order[:min(n, len(order))]
}

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
