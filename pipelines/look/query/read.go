package query

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage/fault"
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

// readThin adds the rewards of scores, or the groups, advantages and rewards of members,
// whose rewards are left out if the user named the scores. idsTo returns the ids up to that of a
// row, nil if the base cannot be read as far.
func (x *Index) readThin(ctx context.Context, d *dataset.Dataset, idsTo func(row uint32) *ids) error {
	if d == nil {
		return nil
	}
	grouped, at := d == x.From.Members, uint32(0)
	for r, err := range rowsOf(ctx, d, d, x.From.rows(), thinColumns) {
		if err != nil {
			return err
		}
		base := idsTo(at)
		if base == nil {
			return nil
		}
		if !base.is(at, r.TrajectoryID) {
			return fault.Invalid(d.URI(), "make the dataset again", nil,
				"it is about trajectory %s, which is not that of its base's row", r.TrajectoryID).InRow(int64(at))
		}
		if !grouped || x.From.Scores == nil {
			x.setRewards(at, r.Reward, r.Rewards)
		}
		if grouped {
			x.groups.add(r.GroupID)
			x.advantage[at] = number(r.Advantage)
			x.noAdvantage.add(r.NoAdvantage)
		} else {
			x.unscored.add(r.Failure)
		}
		at++
	}
	return nil
}

// readDecisions adds what curate decided. The rows of its table are those of its input
// in order, unless it had several.
func (x *Index) readDecisions(ctx context.Context) error {
	type row struct {
		TrajectoryID string `parquet:"trajectory_id"`
		Kept         bool   `parquet:"kept"`
		Reason       string `parquet:"reason,optional,dict"`
	}
	d := x.From.Decisions
	if d == nil {
		return nil
	}
	decided := make([]uint32, x.Rows) // numbers in x.drop
	x.drop.numberOf("")
	var sorted []uint32
	at := int64(-1)
	for r, err := range dataset.Each[row](ctx, d, schema.TableDecisions, d.AllOf(schema.TableDecisions)) {
		if err != nil {
			return err
		}
		at++
		to := at
		if at >= int64(x.Rows) || !x.ids.is(uint32(at), r.TrajectoryID) {
			if sorted == nil {
				sorted = x.byID()
				x.decisionRow = ascending(x.Rows)
			}
			if to = x.ids.within(sorted, r.TrajectoryID); to < 0 {
				continue // of another dataset
			}
			x.decisionRow[to] = uint32(at)
		}
		reason := r.Reason
		if r.Kept {
			reason = Kept
		}
		decided[to] = x.drop.numberOf(reason)
	}
	for _, n := range decided {
		x.drop.add(x.drop.values[n])
	}
	return nil
}
