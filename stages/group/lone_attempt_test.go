package group_test

import (
	"cmp"
	"testing"

	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/group/pairs"
	"github.com/rollmill/rollmill/stages/plugin"
)

// TestCompares: an estimator compares unless one attempt alone has an
// advantage of its own.
func TestCompares(t *testing.T) {
	for want, options := range map[bool][]group.Options{
		true: {{}, {Estimator: group.Chosen{Name: "rloo"}}, {Estimator: group.Chosen{Name: "drgrpo"}}, {Compat: group.CompatTRL},
			{Estimator: group.Chosen{Name: "gdpo"}}, {By: "example_id"}},
		false: {{Compat: group.CompatVerl}, {Estimator: group.Chosen{Name: "reinforce++"}}, {By: "metadata.topic"}, {Labels: true},
			{Pairs: pairs.Settings{Mode: pairs.BestWorst, From: pairs.Candidates}}},
	} {
		for _, o := range options {
			o.Estimator = plugin.Pick(estimators.All, cmp.Or(o.Estimator.Name, group.DefaultEstimator))
			if o.Compares() != want {
				t.Errorf("%+v: %v", o, !want)
			}
		}
	}
}
