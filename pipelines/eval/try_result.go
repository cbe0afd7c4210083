package eval

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/advantages"
	"github.com/rollmill/rollmill/formats/dataset/joined"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/formats/traceback"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/pipelines/look/model"
	"github.com/rollmill/rollmill/pipelines/look/query"
	"github.com/rollmill/rollmill/pipelines/look/show"
	"github.com/rollmill/rollmill/pipelines/look/text"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/watch"
	"github.com/rollmill/rollmill/storage/fault"
)

// TryResult is what came of the attempts.
type TryResult struct {
	Per      int       `json:"per_example"`
	Scored   int       `json:"scored"` // attempts with a reward
	Attempts []Attempt `json:"attempts"`
	Groups   []Group   `json:"groups"`
	Cost     Cost      `json:"cost"`            // of all attempts
	Epoch    Cost      `json:"epoch"`           // of a whole epoch, extrapolated
	Gates    []string  `json:"gates,omitempty"` // what would have refused an epoch like this

	Best  show.Values `json:"best,omitempty"` // all columns of the attempt with the highest reward
	Worst show.Values `json:"worst,omitempty"`

	best, worst *model.Conversation // nil for none
}

// Attempt is one trajectory.
type Attempt struct {
	TrajectoryID     string            `json:"trajectory_id"`
	ExampleID        string            `json:"example_id"`
	Generation       int32             `json:"generation"`
	Status           string            `json:"status"`
	StopReason       string            `json:"stop_reason"`
	FailureClass     string            `json:"failure_class,omitempty"`
	Error            string            `json:"error,omitempty"`
	Reward           *float64          `json:"reward"`
	Rewards          []model.Component `json:"rewards"`
	Advantage        *float64          `json:"advantage"`
	Turns            int               `json:"turns"` // calls to the model
	PromptTokens     int32             `json:"prompt_tokens"`
	CompletionTokens int32             `json:"completion_tokens"`
	Seconds          float64           `json:"seconds"`
	Cost             *float64          `json:"cost"` // of the calls; null without prices
	Answer           string            `json:"answer,omitempty"`
	Message          int               `json:"message"`           // on the main path, from 0: the first that not all attempts at the example share
	Differs          string            `json:"differs,omitempty"` // the beginning of that message; "" where the attempt had ended

	group string
}

// Group is one example's attempts.
type Group struct {
	GroupID string   `json:"group_id"`
	Count   int32    `json:"count"`
	Valid   int32    `json:"valid"`
	Mean    *float64 `json:"mean"`
	Std     *float64 `json:"std"`
	Flat    bool     `json:"flat"` // it gives no training signal: its advantages are 0, or without any its rewards are equal

	facts []model.Fact
}

// Cost is what trajectories took.
type Cost struct {
	Trajectories     int64 `json:"trajectories"`
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
	// of the trajectories one after another; of an epoch, as many at once as rollout makes
	Seconds     float64  `json:"seconds"`
	Money       *float64 `json:"money"`        // null without prices
	JudgeTokens int64    `json:"judge_tokens"` // of rewards that ask a model
	JudgeMoney  float64  `json:"judge_money"`
}

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
	for t, err := range source.Each(ctx, d.All(), joined.Whole) {
		if err != nil {
			return err
		}
		r.add(t, o.Rollout.Budget)
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
	all := slices.Clone(r.Attempts)
	for i, row := range order {
		r.Attempts[i] = all[row]
	}
	return err
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

func (r *TryResult) add(t *formats.Trajectory, prices watch.Budget) {
	a := Attempt{TrajectoryID: t.TrajectoryID, ExampleID: t.ExampleID, Generation: t.Generation, Status: t.Status,
		StopReason:   t.StopReason,
		FailureClass: t.FailureClass, Error: t.Error, Reward: t.Reward, Advantage: t.Advantage, Turns: len(t.Calls),
		Rewards:      model.ComponentsOf(t.Rewards),
		PromptTokens: t.PromptTokens, CompletionTokens: t.CompletionTokens, Seconds: float64(t.FinishedAt-t.StartedAt) / 1e6,
		Answer: t.Answer}
	r.Cost.Trajectories++
	r.Cost.PromptTokens += int64(t.PromptTokens)
	r.Cost.CompletionTokens += int64(t.CompletionTokens)
	r.Cost.Seconds += a.Seconds
	if prices.PromptPrice > 0 || prices.CompletionPrice > 0 {
		money := (float64(t.PromptTokens)*prices.PromptPrice + float64(t.CompletionTokens)*prices.CompletionPrice) / 1e6
		a.Cost = &money
		if r.Cost.Money == nil {
			r.Cost.Money = new(float64)
		}
		*r.Cost.Money += money
	}
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
	r.Epoch.JudgeTokens, r.Epoch.JudgeMoney = int64(float64(c.JudgeTokens)*times), c.JudgeMoney*times
	r.Epoch.Seconds = c.Seconds * times / float64(min(int64(cmp.Or(o.Concurrency, rollout.DefaultConcurrency)), n))
	if c.Money != nil {
		r.Epoch.Money = new(*c.Money * times)
	}
}

// Err returns an error if no attempt has a reward: nothing could be trained.
func (r *TryResult) Err() error {
	if r.Scored > 0 {
		return nil
	}
	because, hint := "", rewardHint
	for _, a := range r.Attempts {
		for _, c := range a.Rewards {
			if c.Failure != "" && because == "" {
				because = ": reward " + c.Name + ": " + c.Failure + ": " + lastLine(c.Error)
			}
		}
		if a.FailureClass != "" {
			because, hint = ": "+a.FailureClass+": "+lastLine(a.Error), hints[a.FailureClass]
			break
		}
	}
	return fault.Errorf(fault.Failed, hint, "try: none of %s has a reward%s",
		plural.Of(len(r.Attempts), "attempt"), because)
}

// lastLine returns the line that names the cause, and where the user's code is.
func lastLine(said string) string {
	said = strings.TrimSpace(said)
	line := text.Line(said[strings.LastIndex(said, "\n")+1:])
	if place := traceback.Place(said); place != "" {
		line += " (" + place + ")"
	}
	return line
}
