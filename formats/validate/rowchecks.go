package validate

import (
	"fmt"
	"math"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/redaction"
)

// Keys is the name of the check for keys. A backend that uploads the rows to a
// service is not given a batch with such a finding.
const Keys = "keys"

// invariants counts rows that violate the guarantees of package formats.
func invariants(c *Count, r *Row) {
	c.Of++
	problems := problemsOf(r)
	if r.Base != "" && r.Base != r.TrajectoryID {
		problems = append(problems, Problem{Column: "trajectory_id", What: "the base's row is " + r.Base})
	}
	if len(problems) > 0 {
		c.Add(r, "", "%s", problems[0])
	}
}

func problemsOf(r *Row) []Problem {
	switch {
	case r.Trajectory != nil:
		return Trajectory(r.Trajectory)
	case r.Score != nil:
		return Score(r.Score)
	}
	return Member(r.Member)
}

// empty counts all rows, to find that there are none.
type empty struct{ Count }

func (c *empty) Row(*Row) { c.N++ }

func (c *empty) found(k *Check) []Finding {
	if c.N > 0 {
		return nil
	}
	return []Finding{{What: k.Help}}
}

// failures counts rows that failed. Of an import those that were not attempted
// count too: its report says what each row can be used for.
func failures(c *Count, r *Row) {
	c.Of++
	if r.Status != outcomes.StatusFailed && (r.Source == nil || r.Status != outcomes.StatusSkipped) {
		return
	}
	class, detail := "failed", ""
	if t := r.Trajectory; t != nil {
		class, detail = t.FailureClass, t.Error
	}
	c.Add(r, class, "%s", detail)
}

// unscored counts finished trajectories without reward: if a reader replaces null by
// 0, a failed judge looks like a low score. Wide rows of a dataset may get their
// rewards later; those of an import count.
func unscored(c *Count, r *Row) {
	if !r.Valid() || r.Score == nil && r.Source == nil {
		return
	}
	c.Of++
	switch {
	case rewarded(r):
	case r.Score != nil:
		c.Add(r, r.Score.Failure, "%s", r.Score.Error)
	default:
		c.Add(r, "", "")
	}
}

func rewarded(r *Row) bool { return r.Reward != nil && finite(*r.Reward) }

func truncated(c *Count, r *Row) {
	if r.Trajectory == nil {
		return
	}
	if c.Of++; r.Status == outcomes.StatusTruncated {
		c.Add(r, r.Trajectory.StopReason, "")
	}
}

// truncatedScored counts attempts that were cut off and still have a reward that
// counts in their group: right for a task that wants short answers, noise for
// others.
func truncatedScored(c *Count, r *Row) {
	if r.Reward == nil || r.Member != nil { // the check of its scores reports it
		return
	}
	if c.Of++; r.Status == outcomes.StatusTruncated {
		c.Add(r, "", "reward %.6g", *r.Reward)
	}
}

// prefixBreaks counts messages whose prompt did not continue the tokens before it.
func prefixBreaks(c *Count, r *Row) {
	t := r.wide()
	if t == nil {
		return
	}
	for i := range t.Messages {
		m := &t.Messages[i]
		if m.Sampled {
			c.Of++
		}
		if m.PrefixBreak != "" {
			c.Add(r, m.PrefixBreak, "message %d", i)
		}
	}
}

func branches(c *Count, r *Row) {
	if r.Trajectory == nil {
		return
	}
	c.Of++
	for i := range r.Trajectory.Messages {
		if b := r.Trajectory.Messages[i].Branch; b != "" {
			c.Add(r, b, "message %d", i)
		}
	}
}

// keys counts rows with API keys, tokens and passwords in their texts. A finding
// names the place and the sort, and never has the key itself.
func keys(c *Count, r *Row) {
	if r.Trajectory == nil {
		return
	}
	c.Of++
	if k, found := redaction.FindKey(r.Trajectory); found {
		c.Add(r, k.Detector, "%s", k)
	}
}

// length computes Pearson's correlation of reward and sampled tokens in one
// pass (Welford's updates). A reward that mostly depends on length teaches
// length.
type length struct {
	Count
	n                    float64
	mr, mt, rr, tt, both float64
}

const (
	fewRows        = 20
	strongRelation = 0.5
)

func (c *length) Row(r *Row) {
	if r.Reward == nil || r.Tokens == nil || !r.Valid() {
		return
	}
	x, y := *r.Reward, float64(*r.Tokens)
	c.n++
	dx, dy := x-c.mr, y-c.mt
	c.mr += dx / c.n
	c.mt += dy / c.n
	c.rr += float64(dx * (x - c.mr))
	c.tt += float64(dy * (y - c.mt))
	c.both += float64(dx * (y - c.mt))
}

func (c *length) found(*Check) []Finding {
	r := c.both / math.Sqrt(c.rr*c.tt)
	if c.n < fewRows || !(math.Abs(r) >= strongRelation) {
		return nil
	}
	goes := "with"
	if r < 0 {
		goes = "against"
	}
	return []Finding{{What: fmt.Sprintf("reward goes %s length: correlation %.2f with the number of sampled tokens", goes, r),
		Of: int64(c.n)}}
}
