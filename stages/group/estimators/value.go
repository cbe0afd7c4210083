package estimators

import (
	"github.com/rollmill/rollmill/stages/group"
)

// Value gives each message that the policy wrote what it changed, by Monte Carlo (VinePPO,
// arXiv 2410.01679): the value of a prefix is the mean reward of the forks that continue it, that of
// the start the mean of the group, and that of the end the trajectory's reward. The advantage of a message is the
// value after it less the value before; the messages between two known values share
// their difference. Nothing is divided, so there is no NoScale.
//
// The advantage of a fork is its reward less the mean of the forks of its prefix. A
// trajectory that was not forked has its reward less the group's mean in each message.
var Value = group.EstimatorKind{
	Kind: kind("value", "credit for each message: how it changed the mean reward of the forks",
		func(group.Setup) group.Estimator {
			return group.Estimator{Advantages: group.SingletonNone.Centred, Forks: true, Steps: changes,
				Looks: group.Looks{Branches: true, Forks: true}}
		}),
	ZeroSum: true,
}

// changes gives steps what they changed.
func changes(v *group.Valid, steps [][]group.Step, out [][]group.Credit) error {
	for i := range steps {
		after := v.Rewards[i]
		end := len(steps[i])
		for k := end - 1; k >= 0; k-- {
			before := v.Mean
			if known := steps[i][k].Value; known != nil && k > 0 {
				before = *known
			} else if k > 0 {
				continue
			}
			for ; end > k; end-- {
				out[i][end-1].Value = group.Finite(after - before)
			}
			after = before
		}
	}
	return nil
}
