package rules

import (
	"cmp"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/curate"
)

// leaveOut draws which of n to drop so that keep remain: those with the largest
// seeds, which depend only on ids.
func leaveOut(n, keep int, seed func(i int) int64) []int {
	if n <= keep {
		return nil
	}
	seeds, order := make([]int64, n), make([]int, n)
	for i := range n {
		seeds[i], order[i] = seed(i), i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(seeds[i], seeds[j]) })
	return order[keep:]
}

func sampleMembers(seed int64, members []formats.Member, keep int) []curate.Verdict {
	verdicts := make([]curate.Verdict, len(members))
	for _, i := range leaveOut(len(members), keep, func(i int) int64 {
		return formats.Seed(seed, "subsample", members[i].TrajectoryID)
	}) {
		verdicts[i].Reason = reasonSubsample
	}
	return verdicts
}
