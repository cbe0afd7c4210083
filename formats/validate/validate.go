// Package validate has every check, once: All lists them, each with one name. A check
// is a property of rows, groups, datasets or runs. Some are faults: rows that break the
// guarantees of package formats, or that would harm training. Others are limits: rows
// without logprobs cannot train with GRPO, but DPO, SFT and a judge can use them.
//
// Commands choose from the list (see Commands). A Doctor makes the checks of a dataset's
// rows, for audit, submit and report; a SourceCheck makes those of an import, and
// reports what its rows can be used for; package audit makes those that see a
// whole run. Nothing here changes a row.
//
// formats/dataset checks that a dataset is complete and unchanged, and the exporters
// check that a trainer can load it.
//
// To add a check, see All. To add an invariant of rows (check "rows"): add a line to the
// function for its part of the row, and a change that breaks it to
// TestEveryInvariantIsChecked.
package validate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/training"
)

// Problem is one broken invariant.
type Problem struct {
	Column string // with the index in lists, such as messages[3].logprobs
	What   string
}

func (p Problem) String() string { return p.Column + ": " + p.What }

// Trajectory returns the violated invariants of a wide row, in column order.
func Trajectory(t *formats.Trajectory) []Problem {
	var c checks
	c.ids(t.TrajectoryID, t.ExampleID, t.Epoch, t.Generation)
	c.object("example", t.Example)
	c.messages(t)
	c.calls(t)
	c.candidates(t)
	c.state(t)
	c.tokens(t)
	c.digest(t)
	c.reward(t.Reward, t.Rewards, t.ShapedRewards, t.Status)
	c.number("advantage", t.Advantage)
	c.unless(t.Advantage != nil && t.Reward == nil, "advantage", "is set, but there is no reward")
	c.advantages(t)
	c.unless(t.StartedAt > t.FinishedAt && t.FinishedAt != 0, "finished_at", "is before started_at")
	if t.Metadata != "" {
		c.object("metadata", t.Metadata)
	}
	return c.problems
}

// advantages and losses are of sampled messages, and those of tokens one for each.
func (c *checks) advantages(t *formats.Trajectory) {
	for i, a := range t.Advantages {
		c.in("advantages", i)
		if a.Message < 0 || int(a.Message) >= len(t.Messages) || !t.Messages[a.Message].Sampled {
			c.unless(true, "message", "is %d, which was not sampled", a.Message)
			continue
		}
		c.number("value", &a.Value)
		n := len(t.Messages[a.Message].TokenIDs)
		c.unless(a.Tokens != nil && len(a.Tokens) != n, "tokens", "has %d advantages for %d tokens", len(a.Tokens), n)
	}
	for i, l := range t.Losses {
		c.in("losses", i)
		if l.Message < 0 || int(l.Message) >= len(t.Messages) || !t.Messages[l.Message].Sampled {
			c.unless(true, "message", "is %d, which was not sampled", l.Message)
			continue
		}
		c.listed("loss", l.Loss, training.Losses)
		c.number("weight", &l.Weight)
		n, want := len(l.Reference), 0
		if l.Loss == training.LossRefKL {
			want = len(t.Messages[l.Message].TokenIDs)
		}
		c.unless(n != want, "reference", "has %d log probabilities, want %d", n, want)
	}
	c.out()
}

// Score returns the violated invariants of a thin row of scores.
func Score(s *formats.Score) []Problem {
	var c checks
	c.ids(s.TrajectoryID, s.ExampleID, s.Epoch, s.Generation)
	c.listed("status", s.Status, outcomes.Statuses)
	c.reward(s.Reward, s.Rewards, s.ShapedRewards, s.Status)
	c.unless((s.Reward == nil) != (s.Failure != ""), "failure", "is %q, but reward is %s", s.Failure, shown{s.Reward})
	if s.Failure != "" {
		c.listed("failure", s.Failure, outcomes.RewardFailures)
	}
	return c.problems
}

// Member returns the violated invariants of a thin row of groups.
func Member(m *formats.Member) []Problem {
	var c checks
	c.ids(m.TrajectoryID, m.ExampleID, m.Epoch, m.Generation)
	c.listed("status", m.Status, outcomes.Statuses)
	of := formats.GroupID("", int(m.Epoch)) // a group may have any name that ends in the epoch
	c.unless(!strings.HasSuffix(m.GroupID, of), "group_id", "is %q, want something that ends in %q", m.GroupID, of)
	c.reward(m.Reward, m.Rewards, m.ShapedRewards, m.Status)
	c.number("advantage", m.Advantage)
	c.unless(m.Advantage != nil && m.Reward == nil, "advantage", "is set, but there is no reward")
	c.unless((m.Advantage == nil) != (m.NoAdvantage != ""), "no_advantage", "is %q, but advantage is %s", m.NoAdvantage,
		shown{m.Advantage})
	if m.NoAdvantage != "" {
		c.listed("no_advantage", m.NoAdvantage,
			[]string{training.NoAdvantageFailed, training.NoAdvantageUnscored, training.NoAdvantageSingleton})
	}
	return c.problems
}

// shown formats a number for a problem. Most rows have no problems, so nothing
// is formatted before one is found.
type shown struct{ v *float64 }

func (s shown) String() string {
	if s.v == nil {
		return "null"
	}
	return fmt.Sprint(*s.v)
}

// checks collects problems.
type checks struct {
	problems []Problem
	list     string // of which an element is checked; "" for the row itself
	element  int
}

// in prefixes columns with those of an element of a list, until out.
func (c *checks) in(list string, element int) { c.list, c.element = list, element }

func (c *checks) out() { c.list = "" }

// unless records a problem when wrong is true.
func (c *checks) unless(wrong bool, column, format string, args ...any) {
	if !wrong {
		return
	}
	if c.list != "" {
		column = fmt.Sprintf("%s[%d].%s", c.list, c.element, column)
	}
	c.problems = append(c.problems, Problem{column, fmt.Sprintf(format, args...)})
}

func (c *checks) ids(trajectory, example string, epoch, generation int32) {
	c.unless(trajectory == "", "trajectory_id", "is empty")
	c.unless(example == "", "example_id", "is empty")
	c.unless(epoch < 0, "epoch", "is %d", epoch)
	c.unless(generation < 0, "generation", "is %d", generation)
}

func (c *checks) listed(column, value string, list []string) {
	c.unless(!slices.Contains(list, value), column, "%q is not one of %v", value, list)
}

func (c *checks) number(column string, v *float64) {
	c.unless(v != nil && !finite(*v), column, "is %s", shown{v})
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// reward compares a total with its components. Failed trajectories have no
// total: they are excluded and never scored as 0.
func (c *checks) reward(total *float64, rewards []formats.NamedReward, shaped []float64, status string) {
	c.number("reward", total)
	c.unless(total != nil && !valid(status), "reward", "is %s, but the trajectory is not valid", shown{total})
	names := make(map[string]bool, len(rewards))
	for i := range rewards {
		r := &rewards[i]
		c.in("rewards", i)
		c.unless(r.Name == "" || names[r.Name], "name", "%q is empty or comes twice", r.Name)
		names[r.Name] = true
		c.number("value", r.Value)
		c.number("weight", &r.Weight)
		c.unless((r.Value == nil) != (r.Failure != ""), "failure", "is %q, but value is %s", r.Failure, shown{r.Value})
		if r.Failure != "" {
			c.listed("failure", r.Failure, outcomes.RewardFailures)
		}
	}
	c.out()
	for i, v := range shaped {
		c.unless(!finite(v), fmt.Sprintf("shaped_rewards[%d]", i), "is %v", v)
	}
}
