package validate

import (
	"fmt"
	"math"

	"github.com/rollmill/rollmill/formats"
)

// The shares from which something that is normal in small numbers is a problem.
const (
	manyFailures  = 0.1
	manyUnscored  = 0.1
	manyTruncated = 0.2
)

type failures struct{ Count }

func newFailures() Checker { return &failures{} }

func (c *failures) Row(r *Row) {
	c.Of++
	if r.Status != formats.StatusFailed {
		return
	}
	class, detail := "failed", ""
	if t := r.Trajectory; t != nil {
		class, detail = t.FailureClass, t.Error
	}
	c.Add(r, class, detail)
}

func (c *failures) Found() []Finding { return c.Over(manyFailures, "trajectories failed") }

// unscored looks for finished trajectories without reward: if a reader replaces
// null by 0, a failed judge looks like a low score.
type unscored struct{ Count }

func newUnscored() Checker { return &unscored{} }

func (c *unscored) Row(r *Row) {
	if r.Score == nil || !r.Valid() {
		return
	}
	c.Of++
	if r.Reward == nil {
		c.Add(r, r.Score.Failure, r.Score.Error)
	}
}

func (c *unscored) Found() []Finding {
	return c.Over(manyUnscored, "finished trajectories have no reward")
}

type truncated struct{ Count }

func newTruncated() Checker { return &truncated{} }

func (c *truncated) Row(r *Row) {
	if r.Trajectory == nil {
		return
	}
	c.Of++
	if r.Status == formats.StatusTruncated {
		c.Add(r, r.Trajectory.StopReason, "")
	}
}

func (c *truncated) Found() []Finding { return c.Over(manyTruncated, "trajectories were cut off") }

// truncatedScored looks for attempts that were cut off and still have a reward
// that counts in their group: right for a task that wants short answers, noise
// for others.
type truncatedScored struct{ Count }

func newTruncatedScored() Checker { return &truncatedScored{} }

func (c *truncatedScored) Row(r *Row) {
	if r.Reward == nil || r.Member != nil { // the check of its scores reports it
		return
	}
	c.Of++
	if r.Status == formats.StatusTruncated {
		c.Add(r, "", fmt.Sprintf("reward %.6g", *r.Reward))
	}
}

func (c *truncatedScored) Found() []Finding {
	return c.Over(0, "rewards are of attempts that were cut off")
}

// length computes Pearson's correlation of reward and sampled tokens in one
// pass (Welford's updates). A reward that mostly depends on length teaches
// length.
type length struct {
	n                    float64
	mr, mt, rr, tt, both float64
}

const (
	fewRows        = 20
	strongRelation = 0.5
)

func newLength() Checker { return &length{} }

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

func (c *length) Found() []Finding {
	r := c.both / math.Sqrt(c.rr*c.tt)
	if c.n < fewRows || !(math.Abs(r) >= strongRelation) {
		return nil
	}
	goes := "with"
	if r < 0 {
		goes = "against"
	}
	return []Finding{{What: fmt.Sprintf("reward goes %s length: correlation %.2f with the number of sampled tokens", goes, r), Of: int64(c.n)}}
}
