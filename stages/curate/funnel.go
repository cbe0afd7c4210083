package curate

import (
	"github.com/rollmill/rollmill/formats/decision"
)

// funnel counts what each rule refused: groups (those of which it left nothing)
// and trajectories. It is part of the manifest's facts, which are summed over
// shards; decision.Funnel reads it there.
type funnel struct{ groups, trajectories map[string]int64 }

func (f *funnel) sum() (groups, trajectories int64) {
	for _, n := range f.groups {
		groups += n
	}
	for _, n := range f.trajectories {
		trajectories += n
	}
	return groups, trajectories
}

func (f *funnel) facts(into map[string]float64) {
	for rule, n := range f.groups {
		into[decision.OfGroups(rule)] = float64(n)
	}
	for rule, n := range f.trajectories {
		into[decision.OfTrajectories(rule)] = float64(n)
	}
}
