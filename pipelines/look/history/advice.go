package history

import "fmt"

const (
	adviceEpochs = 5   // epochs with a reward before a trend is looked for
	flatShare    = 0.5 // of the groups
)

// Advice returns hints for a run that does not improve.
func Advice(epochs []Epoch) []string {
	var out []string
	var means []float64
	var groups, flat, failed, rows int64
	for _, e := range epochs {
		if e.Train == nil {
			continue
		}
		if e.Train.Trajectories == 0 {
			out = append(out, fmt.Sprintf("advice: no trajectories collected for epoch %d: check the examples, "+
				"rollout --target-function --target-model, and the agent's errors (rollmill show --failed)", e.Epoch))
		}
		if e.Train.Groups > 0 && e.Train.Scored == 0 {
			out = append(out, fmt.Sprintf("advice: none of the %d trajectories of epoch %d has a reward: check that it was "+
				"scored, and the errors of the rewards (rollmill show --failed)", e.Train.Trajectories, e.Epoch))
		}
		groups, flat, failed, rows = groups+e.Train.Groups, flat+e.Flat, failed+e.Train.Failed, rows+e.Train.Trajectories
		if e.Train.Mean != nil {
			means = append(means, *e.Train.Mean)
		}
	}
	if rows > 0 && 2*failed > rows {
		out = append(out, fmt.Sprintf("advice: %d of %d trajectories failed: check failure_class and error first",
			failed, rows))
	}
	if groups > 0 && rows <= groups {
		out = append(out, fmt.Sprintf("advice: each of the %d groups has one trajectory, so an estimator that compares "+
			"members has nothing to compare: raise rollout --generations (8 is usual, 2 is the least)", groups))
	}
	if n := len(means); n >= adviceEpochs && average(means[n-n/3:]) <= average(means[:n/3]) {
		out = append(out, "advice: rewards are not increasing: raise rollout --generations, try the curriculum, change "+
			"submit --learning-rate, and check that the reward separates good from bad answers")
		if groups > 0 && float64(flat) > flatShare*float64(groups) {
			out = append(out, fmt.Sprintf("advice: %d of %d groups are flat: their advantages are all 0, so nothing "+
				"can be learned from them", flat, groups))
		}
	}
	return out
}

func average(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}
