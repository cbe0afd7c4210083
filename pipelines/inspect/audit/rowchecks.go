package audit

import (
	"fmt"

	"github.com/rollmill/rollmill/formats/validate"
)

// invariants holds each row against package validate.
type invariants struct{ count }

func newRows() Looker { return &invariants{} }

func (c *invariants) Row(r *Row) {
	c.of++
	problems := problemsOf(r)
	if r.Base != "" && r.Base != r.TrajectoryID {
		problems = append(problems, validate.Problem{Column: "trajectory_id", What: "the base's row is " + r.Base})
	}
	if len(problems) > 0 {
		c.add(r, "", problems[0].String())
	}
}

func problemsOf(r *Row) []validate.Problem {
	switch {
	case r.Trajectory != nil:
		return validate.Trajectory(r.Trajectory)
	case r.Score != nil:
		return validate.Score(r.Score)
	}
	return validate.Member(r.Member)
}

func (c *invariants) Found() []Finding { return c.over(0, "rows break what their columns promise") }

type empty struct{ rows int64 }

func newEmpty() Looker { return &empty{} }

func (c *empty) Row(*Row) { c.rows++ }

func (c *empty) Found() []Finding {
	if c.rows > 0 {
		return nil
	}
	return []Finding{{What: "there are no rows"}}
}

// logprobs wants token ids and log probabilities of every trained message.
type logprobs struct{ count }

func newLogprobs() Looker { return &logprobs{} }

func (c *logprobs) Row(r *Row) {
	if r.Trajectory == nil || !r.Valid() {
		return
	}
	c.of++
	for i := range r.Trajectory.Messages {
		if !r.Trajectory.Trained(i) {
			continue
		}
		switch m := &r.Trajectory.Messages[i]; {
		case len(m.TokenIDs) == 0:
			c.add(r, "without token ids", fmt.Sprintf("message %d", i))
			return
		case len(m.Logprobs) == 0:
			c.add(r, "without log probabilities", fmt.Sprintf("message %d", i))
			return
		}
	}
}

func (c *logprobs) Found() []Finding {
	return c.over(0, "trajectories cannot be trained on as they were sampled")
}

type untrained struct{ count }

func newUntrained() Looker { return &untrained{} }

func (c *untrained) Row(r *Row) {
	if r.Trajectory == nil || !r.Valid() {
		return
	}
	c.of++
	for i := range r.Trajectory.Messages {
		if r.Trajectory.Trained(i) {
			return
		}
	}
	c.add(r, "", fmt.Sprintf("%d calls", len(r.Trajectory.Calls)))
}

func (c *untrained) Found() []Finding {
	return c.over(0, "finished trajectories hold nothing sampled from the target model")
}

type temperature struct{ count }

func newTemperature() Looker { return &temperature{} }

func (c *temperature) Row(r *Row) {
	if r.Trajectory == nil || !r.Valid() {
		return
	}
	c.of++
	for i := range r.Trajectory.Calls {
		call := &r.Trajectory.Calls[i]
		if t, raw := call.RawTemperature(); raw && call.Target {
			c.add(r, fmt.Sprintf("at temperature %g", t), "")
			return
		}
	}
}

func (c *temperature) Found() []Finding {
	return c.over(0, "trajectories have log probabilities of another distribution than was sampled")
}

// prefixBreaks counts messages whose prompt did not go on from the tokens
// before it.
type prefixBreaks struct{ count }

func newPrefixBreaks() Looker { return &prefixBreaks{} }

func (c *prefixBreaks) Row(r *Row) {
	if r.Trajectory == nil || !r.Valid() {
		return
	}
	for i := range r.Trajectory.Messages {
		m := &r.Trajectory.Messages[i]
		if m.Sampled {
			c.of++
		}
		if m.PrefixBreak != "" {
			c.add(r, m.PrefixBreak, fmt.Sprintf("message %d", i))
		}
	}
}

func (c *prefixBreaks) Found() []Finding {
	return c.over(0, "answers whose prompt is not the earlier tokens and more")
}

type branches struct{ count }

func newBranches() Looker { return &branches{} }

func (c *branches) Row(r *Row) {
	if r.Trajectory == nil {
		return
	}
	c.of++
	for i := range r.Trajectory.Messages {
		if b := r.Trajectory.Messages[i].Branch; b != "" {
			c.add(r, b, fmt.Sprintf("message %d", i))
		}
	}
}

func (c *branches) Found() []Finding { return c.over(0, "branches of trajectories") }
