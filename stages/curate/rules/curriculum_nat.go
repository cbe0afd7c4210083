package rules

import (
	"math"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/stages/curate"
)

// nat reproduces the NeMo Agent Toolkit's ARTTrainer.apply_curriculum_learning with its quirks;
// the package comment says where it differs from its documentation. Two things are different.
// Its random.sample is unseeded: this draws the same number by the seed. And its state lives as
// long as its process, so one process's epochs are a chain of --previous here; without
// --previous a process began with this epoch.
type nat struct{ CurriculumSettings }

func (n nat) groups(b curate.Batch, groups *curate.Groups) (any, error) {
	s := decision.CurriculumState{Share: n.Initial, LastExpansion: -1}
	if err := readCurriculumState(b, &s); err != nil {
		return nil, err
	}
	s.Surviving, s.Included = 0, 0
	if b.Total == 1 {
		s.Surviving, s.Included = groups.Len(), groups.Len()
		return s, nil
	}
	left, err := survivors(groups, n.MinRewardDiff)
	if err != nil || left == 0 {
		return s, err
	}
	if b.Epoch-s.LastExpansion >= n.Interval && s.Share < 1 {
		s.Share, s.LastExpansion = math.Min(1, s.Share+n.Increment), b.Epoch
	}
	include(&s, left, ceil(float64(left)*s.Share))
	place := int64(0)
	if err := cut(&s, groups, func(g *curate.Group) (curate.Rank, bool) {
		place++
		return curate.Rank{Value: direction(n.Ascending, g.Mean), Lot: place}, true
	}); err != nil {
		return nil, err
	}
	return s, n.sampleGroups(b, groups, left)
}

// sampleGroups keeps at most a share of the survivors among the chosen groups.
func (n nat) sampleGroups(b curate.Batch, groups *curate.Groups, survivors int) error {
	if n.RandomSubsample == nil {
		return nil
	}
	keep, at := ceil(float64(survivors)**n.RandomSubsample), 0
	for g, err := range groups.Sorted(func(g *curate.Group) (curate.Rank, bool) {
		return curate.Rank{Lot: formats.Seed(b.Seed, "subsample", g.ID)}, true
	}) {
		if at++; err == nil && at > keep {
			err = groups.Refuse(g, curate.Verdict{Reason: reasonSubsample})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// members samples the trajectories of a group that is alone in its epoch.
func (n nat) members(b curate.Batch, members []formats.Member) []curate.Verdict {
	if n.RandomSubsample == nil || b.Total != 1 {
		return nil
	}
	return sampleMembers(b.Seed, members, ceil(float64(len(members))**n.RandomSubsample))
}
