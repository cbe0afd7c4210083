package eval

import (
	"cmp"
	"context"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/advantages"
	"github.com/rollmill/rollmill/formats/dataset/joined"
	"github.com/rollmill/rollmill/formats/prices"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/pipelines/look/model"
	"github.com/rollmill/rollmill/pipelines/look/query"
	"github.com/rollmill/rollmill/stages/rollout"
)

// read reads the attempts from the dataset of group.
func (r *TryResult) read(ctx context.Context, uri string, o TryOptions) error {
	d, err := dataset.Open(ctx, uri, dataset.OpenOptions{IgnoreGates: true})
	if err != nil {
		return err
	}
	source, err := joined.Of(ctx, d)
	if err != nil {
		return err
	}
	table := o.Rollout.Budget.Of("").Prices
	for t, err := range source.Each(ctx, d.All(), joined.Whole) {
		if err != nil {
			return err
		}
		r.add(t, table)
	}
	if cost := table.Cost(prices.Facts{"rollout": r.calls}); cost != nil {
		r.Cost.Money, r.Cost.Unknown = cost.Total, cost.Unknown
	}
	err = advantages.EachGroup(ctx, d, func(g *formats.GroupStats, t training.Training) {
		r.Groups = append(r.Groups, Group{GroupID: g.GroupID, Count: g.Count, Valid: g.Valid, Mean: g.Mean, Std: g.StdPop,
			Flat: g.Flat(t)})
	})
	for i := range r.Groups {
		if err == nil {
			err = r.compare(ctx, uri, &r.Groups[i])
		}
	}
	if err != nil {
		return err
	}
	if err := r.converse(ctx, d); err != nil || o.Order.By == "" {
		return err
	}
	order, err := query.First(ctx, d, query.Query{Order: o.Order}, 0, len(r.Attempts))
	if err != nil { // the attempts are paid for
		o.Env.Logger().Warn("the attempts are not sorted", "error", err)
		return nil
	}
	all := slices.Clone(r.Attempts)
	for i, row := range order {
		r.Attempts[i] = all[row]
	}
	return nil
}

// compare adds where the attempts of a group part.
func (r *TryResult) compare(ctx context.Context, uri string, g *Group) error {
	c, err := model.Compare(ctx, uri, g.GroupID)
	if err != nil {
		return err
	}
	g.facts = model.GroupFacts(c.Members)
	for _, m := range c.Members {
		for i := range r.Attempts {
			if a := &r.Attempts[i]; a.TrajectoryID == m.TrajectoryID {
				a.group, a.Message, a.Differs = g.GroupID, c.Shared, m.Differs
			}
		}
	}
	return nil
}

func (r *TryResult) add(t *formats.Trajectory, table prices.Table) {
	a := Attempt{TrajectoryID: t.TrajectoryID, ExampleID: t.ExampleID, Generation: t.Generation, Status: t.Status,
		StopReason:   t.StopReason,
		FailureClass: t.FailureClass, Error: t.Error, Reward: t.Reward, Advantage: t.Advantage, Turns: len(t.Calls),
		Rewards:      model.ComponentsOf(t.Rewards),
		PromptTokens: t.PromptTokens, CompletionTokens: t.CompletionTokens, Seconds: float64(t.FinishedAt-t.StartedAt) / 1e6,
		Answer: t.Answer}
	calls := map[string]float64{}
	prices.Count(calls, t)
	prices.Count(r.calls, t)
	if money, all := table.Sum(calls); all {
		a.Cost = &money
	}
	r.Cost.Trajectories++
	r.Cost.PromptTokens += int64(t.PromptTokens)
	r.Cost.CompletionTokens += int64(t.CompletionTokens)
	r.Cost.Seconds += a.Seconds
	if t.Reward != nil {
		r.Scored++
	}
	r.Attempts = append(r.Attempts, a)
}

// converse reads the conversations of the best attempt and of the worst: by reward,
// and one without a reward is worse than all that have one.
func (r *TryResult) converse(ctx context.Context, d *dataset.Dataset) error {
	order, err := query.First(ctx, d, query.Query{Order: query.OrderOf("-reward")}, 0, len(r.Attempts))
	if err != nil || len(order) == 0 {
		return err
	}
	if r.best, err = model.Converse(ctx, d.URI(), r.Attempts[order[0]].TrajectoryID); err != nil {
		return err
	}
	if r.Best = r.best.Is; len(order) == 1 {
		return nil
	}
	if r.worst, err = model.Converse(ctx, d.URI(), r.Attempts[order[len(order)-1]].TrajectoryID); err != nil {
		return err
	}
	r.Worst = r.worst.Is
	return nil
}

// extrapolate estimates a whole epoch of a rollout: all its examples, as often as
// it attempts them.
func (r *TryResult) extrapolate(o rollout.Options) {
	n := int64(o.Examples.Len()) * int64(max(1, o.Generations))
	r.Epoch.Trajectories = n
	if r.Cost.Trajectories == 0 {
		return
	}
	times := float64(n) / float64(r.Cost.Trajectories)
	c := r.Cost
	r.Epoch.PromptTokens, r.Epoch.CompletionTokens = int64(float64(c.PromptTokens)*times), int64(float64(c.CompletionTokens)*times)
	r.Epoch.JudgeTokens, r.Epoch.JudgeMoney = int64(float64(c.JudgeTokens)*times), prices.Round(c.JudgeMoney*times)
	r.Epoch.Seconds = c.Seconds * times / float64(min(int64(cmp.Or(o.Concurrency, rollout.DefaultConcurrency)), n))
	if c.Money != nil {
		r.Epoch.Money = new(prices.Round(*c.Money * times))
	}
}
