package group

import "github.com/rollmill/rollmill/formats"

// Recompute returns what computes the advantages of members anew as a dataset
// with this state did: for groups that lost members. It is for one goroutine;
// the advantages are valid until the next call.
func Recompute(r Registry, s formats.GroupState) (func([]formats.Member) error, error) {
	o := Options{Algorithms: r, Estimator: s.Estimator, Compat: Compat(s.Compat), NoScale: s.NoScale}
	a, err := o.algorithm()
	if err != nil {
		return nil, err
	}
	g := &Grouper{Algorithm: a, Tolerance: s.Tolerance}
	return func(members []formats.Member) error {
		if len(members) == 0 {
			return nil
		}
		_, err := g.Fill(members)
		return err
	}, nil
}
