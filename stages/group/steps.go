package group

import (
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
)

// StepEstimator is an Estimator that also tells the steps of a trajectory apart.
type StepEstimator interface {
	Estimator
	// Steps sets out[i][k], which comes as the advantage of valid member i, to that of
	// its step k; steps are its sampled messages. Flat groups are no exception.
	Steps(steps [][]Step, out [][]float64)
	// UsesStates reports whether it looks at Step.State, for which messages are read.
	UsesStates() bool
}

// Step is a sampled message of a trajectory's main path.
type Step struct {
	Message int32        // its index in messages
	Reward  float64      // its shaped reward; without any, the last step has the trajectory's reward
	State   xxh3.Uint128 // digest of what was said to the model since its last message; equal states are equal
}

// stepColumns are the columns of the base that tell its steps, and states are told by the
// rest.
var (
	stepColumns  = []string{"messages.parent", "messages.sampled", "messages.call", "calls.target"}
	stateColumns = []string{"messages.role", "messages.name", "messages.content", "messages.content_parts"}
)

// stepsOf returns the steps of a trajectory, without their rewards.
func stepsOf(t *formats.Trajectory, states bool) (out []Step) {
	var hash xxh3.Hasher
	for _, i := range t.Main() {
		m := &t.Messages[i]
		if m.Sampled {
			out = append(out, Step{Message: int32(i), State: hash.Sum128()})
			hash.Reset()
		} else if states {
			for _, part := range []string{m.Role, m.Name, m.Content, m.ContentParts} {
				fmt.Fprintf(&hash, "%d ", len(part))
				_, _ = hash.WriteString(part) // it never fails
			}
		}
	}
	return out
}

// steps gives the steps of valid members their rewards, and the members the advantages
// of their steps.
func (g *Grouper) steps(e StepEstimator, members []formats.Member) error {
	steps, out := make([][]Step, len(g.index)), make([][]float64, len(g.index))
	for k, i := range g.index {
		m := &members[i]
		steps[k] = g.lengths[k].Steps
		switch n := len(steps[k]); {
		case m.ShapedRewards != nil && len(m.ShapedRewards) != n:
			return &BadMember{i, fmt.Sprintf("it has %d shaped rewards, and %d messages were sampled", len(m.ShapedRewards), n),
				"shaped rewards are one for each sampled message of the main path; score it again"}
		case m.ShapedRewards == nil && n > 0:
			steps[k][n-1].Reward = *m.Reward
		}
		for s, r := range m.ShapedRewards {
			steps[k][s].Reward = r
		}
		out[k] = g.room(len(steps[k]))
		for s := range out[k] {
			out[k][s] = *m.Advantage
		}
	}
	e.Steps(steps, out)
	for k, i := range g.index {
		m := &members[i]
		for s, value := range out[k] {
			if value != *m.Advantage || m.Advantages != nil {
				m.Advantages = append(m.Advantages, formats.MessageAdvantage{Message: steps[k][s].Message, Value: Finite(value)})
			}
		}
	}
	return nil
}
