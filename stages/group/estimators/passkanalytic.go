package estimators

import (
	"math"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage/fault"
)

// PassKAnalytic is pass@k training by its closed form (arXiv 2508.10751): the
// advantage of a member over all draws of k members from its group, each draw
// rewarded with 1 if one of it is solved. Of n members, c of which are solved,
//
//	R  = 1 - C(n-c, k) / C(n, k), pass@k; s = sqrt(R (1 - R)) + 1e-6
//	A+ = (1 - R) / s, of the solved
//	A- = (1 - R - C(n-c-1, k-1) / C(n-1, k-1)) / s, of the others
//
// Solved is a reward of at least --solved-threshold; nothing else of a reward
// counts. A group in which fewer than k members are unsolved has 0, one of fewer
// than k members no advantages. With NoScale nothing is divided.
var PassKAnalytic = group.EstimatorKind{
	Kind: plugin.Kind[group.EstimatorSettings]{Name: "passk-analytic",
		Help: "pass@k by its closed form: solved and other members over all draws of k from the group",
		New:  func() group.EstimatorSettings { return &PassKAnalyticSettings{K: 2} }},
	Scaled:  true,
	ZeroSum: true,
	Solved:  true,
}

// PassKAnalyticSettings are the estimator's settings.
type PassKAnalyticSettings struct{ K int }

// Declare declares the settings.
func (p *PassKAnalyticSettings) Declare(d *plugin.Declarer) {
	d.Int(&p.K, "pass-k", "draw `K` members; their pass@k is trained").ID("passk-analytic.k")
}

// Estimator makes the estimator.
func (p *PassKAnalyticSettings) Estimator(s group.Setup) (group.Estimator, error) {
	if p.K < 1 {
		return group.Estimator{}, fault.Errorf(fault.Usage, "give a number of members, at least 1",
			"group: --pass-k %d", p.K)
	}
	return group.Estimator{Advantages: passKAnalytic{p.K, s}.advantages}, nil
}

type passKAnalytic struct {
	k int
	group.Setup
}

func (e passKAnalytic) advantages(v *group.Valid, out []float64) bool {
	n, solved := len(out), 0
	for _, r := range v.Rewards {
		if r >= e.Solved {
			solved++
		}
	}
	if n == 1 || n < e.k {
		return false
	}
	pass, s := formats.PassAtK(n, solved, e.k), 1.0
	if !e.NoScale {
		s = math.Sqrt(pass*(1-pass)) + 1e-6
	}
	for i, r := range v.Rewards {
		if r >= e.Solved {
			out[i] = (1 - pass) / s
		} else {
			out[i] = (formats.PassAtK(n-1, solved, e.k-1) - pass) / s
		}
	}
	return true
}
