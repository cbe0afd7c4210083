// Package sample keeps a share of the groups, and a share of the trajectories
// of what is left. Chance is a hash of the seed and the id, so what else there
// is changes nothing: a group that is kept among ten is kept among thousands,
// and a larger share keeps what a smaller one does.
package sample

import (
	"math"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/curate"
)

// Kind is the registry's entry.
var Kind = curate.Kind{
	Name:    "sample",
	Help:    "keep a seeded share of the groups, and of the trajectories",
	Reasons: []string{formats.DropSubsample},
	New: func(o curate.Options) (curate.Rule, error) {
		if o.SampleGroups == nil && o.SampleTrajectories == nil {
			return nil, nil
		}
		return rule{o.SampleGroups, o.SampleTrajectories}, nil
	},
}

type rule struct{ groups, trajectories *float64 }

func (r rule) Group(b curate.Batch, g *curate.Group) curate.Verdict {
	return draw(r.groups, b.Seed, "group", g.ID)
}

func (r rule) Members(b curate.Batch, members []formats.Member) []curate.Verdict {
	verdicts := make([]curate.Verdict, len(members))
	for i := range members {
		verdicts[i] = draw(r.trajectories, b.Seed, "trajectory", members[i].TrajectoryID)
	}
	return verdicts
}

func draw(share *float64, seed int64, what, id string) curate.Verdict {
	if share == nil || float64(formats.Seed(seed, "sample", what, id))/math.MaxInt64 < *share || *share == 1 {
		return curate.Verdict{}
	}
	return curate.Verdict{Reason: formats.DropSubsample}
}
