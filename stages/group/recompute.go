package group

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Recompute returns a function that computes the advantages of members again, as the dataset
// with this state did: for groups that lost members. The function gets their rows in the base
// too. It is for one goroutine; the advantages are valid until the next call.
func Recompute(r Registry, s training.GroupState) (func([]formats.Member, []formats.Trajectory) error, error) {
	o := Options{Estimator: plugin.Pick(r, s.Estimator), Compat: Compat(s.Compat), NoScale: s.NoScale,
		SolvedThreshold: s.Solved, FlatTolerance: &s.Tolerance}
	_, settings, err := o.Estimator.Get()
	if err == nil && s.Settings != nil {
		err = convert(s.Settings, settings)
	}
	if err != nil {
		return nil, err
	}
	e, err := o.estimator()
	if err != nil {
		return nil, err
	}
	if e.Baselines != nil {
		return nil, usage("leave --recompute out", "group: estimator %s goes from row to row, of which only a part is left", s.Estimator)
	}
	if e.Steps != nil || e.Parts != nil {
		return nil, usage("leave --recompute out", "group: estimator %s looks at columns of the trajectories that are not read again", s.Estimator)
	}
	g := &Grouper{Estimator: e, Setup: o.setup()}
	return func(members []formats.Member, rows []formats.Trajectory) error {
		if len(members) == 0 {
			return nil
		}
		lengths := make([]Length, len(rows))
		for i := range rows {
			lengths[i].SampledTokens = rows[i].SampledTokens
		}
		_, err := g.Fill(members, lengths)
		return err
	}, nil
}
