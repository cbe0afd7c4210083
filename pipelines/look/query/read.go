package query

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
)

// The columns of an index: of the trajectories, of the rewards, and of thin rows.
var (
	wideColumns = []string{"trajectory_id", "run", "example_id", "epoch", "generation", "status", "forked_from", "fork_call", "stop_reason",
		"failure_class", "model", "policy_version", "prompt_tokens", "completion_tokens", "sampled_tokens", "group_id"}
	rewardColumns = []string{"reward", "rewards.name", "rewards.value", "advantage"}
	thinColumns   = append([]string{"trajectory_id", "group_id", "failure", "no_advantage"}, rewardColumns...)
)

// readBase adds the rows, and sends the ids so far now and then. Rewards are those of scores
// and groups if there are any.
func (x *Index) readBase(ctx context.Context, read func(int64), known chan<- ids) error {
	own := x.From.Scores == nil && x.From.Members == nil
	columns := wideColumns
	if own {
		columns = slices.Concat(wideColumns, rewardColumns)
	}
	for r, err := range rowsOf(ctx, x.From.Base, x.From.Base, x.From.rows(), columns) {
		if err != nil {
			return err
		}
		x.addBase(r)
		if own {
			x.setRewards(x.Rows, r.Reward, r.Rewards)
			x.advantage[x.Rows] = number(r.Advantage)
		}
		if x.Rows++; x.Rows%knownRows == 0 {
			read(int64(x.Rows))
			known <- x.ids
		}
	}
	known <- x.ids
	return nil
}

// knownRows is the number of rows after which their ids are known to the readers of thin rows.
const knownRows = 4096

func (x *Index) addBase(r *Row) {
	x.ids.add(r.TrajectoryID)
	x.run.add(r.Run)
	example, epoch := x.examples.last, x.epoch.last
	x.examples.add(r.ExampleID)
	x.epoch.add(int64(r.Epoch))
	x.generation.add(int64(r.Generation))
	x.status.add(r.Status)
	x.stop.add(r.StopReason)
	x.failure.add(r.FailureClass)
	x.model.add(r.Model)
	policy := int64(-1)
	if r.PolicyVersion != nil {
		policy = *r.PolicyVersion
	}
	x.policy.add(policy)
	x.prompt = append(x.prompt, r.PromptTokens)
	x.completion = append(x.completion, r.CompletionTokens)
	x.sampled = append(x.sampled, r.SampledTokens)
	if x.From.Members != nil {
		return // it names the group
	}
	group, unnamed := r.GroupID, r.GroupID == "" && r.ForkCall == nil
	switch {
	case unnamed && x.unnamed && example == x.examples.last && epoch == x.epoch.last:
		group = x.groups.values[x.groups.last] // that of the row before
	case group == "":
		group = formats.GroupOf(r.ExampleID, int(r.Epoch), r.ForkedFrom, r.ForkCall)
	}
	x.unnamed = unnamed
	x.groups.add(group)
}

// setRewards sets the rewards of a row.
func (x *Index) setRewards(row uint32, total *float64, rewards []formats.NamedReward) {
	x.reward[row] = number(total)
	for i := range rewards {
		r := &rewards[i]
		at := slices.IndexFunc(x.components, func(c component) bool { return c.name == r.Name })
		if at < 0 {
			at = len(x.components)
			x.components = append(x.components,
				component{name: strings.Clone(r.Name), values: make([]float64, 0, cap(x.reward))})
		}
		c := &x.components[at]
		for len(c.values) <= int(row) {
			c.values = append(c.values, math.NaN())
		}
		c.values[row] = number(r.Value)
	}
}
