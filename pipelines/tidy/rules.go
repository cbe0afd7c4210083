package tidy

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

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
