package group_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/group/algorithms/all"
)

// TestWhoCompares: an estimator compares unless one attempt alone has an
// advantage of its own.
func TestWhoCompares(t *testing.T) {
	for want, options := range map[bool][]group.Options{
		true:  {{}, {Estimator: "rloo"}, {Estimator: "drgrpo"}, {Compat: group.CompatTRL}, {Estimator: "gdpo"}, {By: "example_id"}},
		false: {{Compat: group.CompatVerl}, {By: "metadata.topic"}, {Labels: true}, {Pairs: group.Pairs{Mode: group.PairBestWorst, From: group.PairCandidates}}},
	} {
		for _, o := range options {
			if o.Algorithms = all.Algorithms; o.Compares() != want {
				t.Errorf("%+v: %v", o, !want)
			}
		}
	}
}
