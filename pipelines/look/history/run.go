// Package history is what is known of a run by epoch: samples with means and bands, costs, drops,
// the curriculum, the receipt. It reads datasets and manifests, or what package report kept
// of them before.
//
// Rewards are means over scored trajectories: a trajectory without a reward is excluded, not
// counted as 0. To add a figure, add a field to Epoch, fill it in collect.go, and show it in
// text.go or tiles.go.
package history

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/rollmill/rollmill/formats/excerpt"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/formats/prices"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/pipelines/look/funnel"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// Run is the report of a run.
type Run struct {
	Root   string   `json:"root"`
	Epochs []Epoch  `json:"epochs"`
	Gaps   []string `json:"gaps,omitempty"`  // epochs without a finished rollout: "2", "4-7", "9 (why)"
	Files  []string `json:"files,omitempty"` // URIs written
	Advice []string `json:"advice,omitempty"`

	Money  *prices.Cost  `json:"money,omitempty"` // null without prices
	Funnel funnel.Funnel `json:"funnel"`
}

// Epoch is the report of one epoch. Fields of a stage that has no output yet are
// nil.
type Epoch struct {
	Epoch      int                `json:"epoch"`
	Time       time.Time          `json:"timestamp"`
	RunID      string             `json:"run_id"`
	Train      *Sample            `json:"train,omitempty"`
	Kept       *Sample            `json:"kept,omitempty"`
	Validation *Sample            `json:"validation,omitempty"`
	Scores     map[string]*Sample `json:"scores,omitempty"` // further score datasets, by the folder: "b", "validation/b"
	Flips      map[string]int64   `json:"flips,omitempty"`  // attempts that score and they solve differently; "rollout": the agents' own rewards
	Flat       int64              `json:"flat_groups"`
	Drops      map[string]int64   `json:"drops,omitempty"`
	Curriculum *Curriculum        `json:"curriculum,omitempty"`
	Receipt    *receipts.Receipt  `json:"receipt,omitempty"`

	// how far the log probabilities of the trainer, before its first step, are above those of
	// the engine, in nats: the mean over trajectories; nil if the trainer gave none back
	Apart *float64 `json:"trainer_above_engine,omitempty"`

	Money *prices.Cost `json:"money,omitempty"` // null without prices

	Made funnel.Epoch `json:"-"` // what its datasets count; none of an epoch that a report has
	Took
}

// Took is what an epoch took, and from which datasets it is known.
type Took struct {
	Seconds  map[string]float64 `json:"seconds,omitempty"`  // by stage
	Failures map[string]int64   `json:"failures,omitempty"` // of rollouts, by class
	Cost     Cost               `json:"cost,omitzero"`
	Facts    prices.Facts       `json:"facts,omitempty"`    // of the datasets, by stage
	Datasets map[string]string  `json:"datasets,omitempty"` // digests by stage
}

// Cost is what the rollouts of an epoch used, and its held-out ones with them.
type Cost struct {
	Calls            int64 `json:"calls"`
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
}

// Add adds what a rollout's manifest says.
func (c *Cost) Add(facts map[string]float64) {
	c.Calls += int64(facts["calls"])
	c.PromptTokens += int64(facts["prompt_tokens"])
	c.CompletionTokens += int64(facts["completion_tokens"])
}

// Sample summarizes trajectories. Mean, Min and Max are over the scored ones, and
// null if there are none.
type Sample struct {
	Trajectories int64              `json:"trajectories"`
	Groups       int64              `json:"groups"`
	Examples     int64              `json:"examples"`
	Scored       int64              `json:"scored"`
	Failed       int64              `json:"failed"`
	Mean         *float64           `json:"mean"`
	Min          *float64           `json:"min"`
	Max          *float64           `json:"max"`
	Rewards      map[string]float64 `json:"rewards,omitempty"` // mean of each named reward

	StdErr        *float64           `json:"std_err,omitempty"`         // of Mean, by groups; null for fewer than two
	RewardStdErrs map[string]float64 `json:"reward_std_errs,omitempty"` // of Rewards

	Weights map[string]float64 `json:"weights,omitempty"` // of each named reward in the total
}

// MeanRewards returns the mean reward of each epoch that has one: in validation, or
// in training if no epoch was validated.
func (r Run) MeanRewards() map[int]float64 {
	for _, of := range Sides {
		out := map[int]float64{}
		for _, e := range r.Epochs {
			if s := of(e); s != nil && s.Mean != nil {
				out[e.Epoch] = *s.Mean
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// Title names a run in a plot.
func (r Run) Title() string {
	id := ""
	for _, e := range r.Epochs {
		if e.RunID != "" {
			id = e.RunID
		}
	}
	_, name := storage.Split(r.Root)
	if id == "" || id == name {
		return excerpt.Start(name, 60)
	}
	return fmt.Sprintf("%s (%s)", excerpt.Start(name, 40), excerpt.Start(id, 36))
}

// Sides are the samples whose rewards are followed, by name.
func Sides(yield func(string, func(Epoch) *Sample) bool) {
	_ = yield("Validation", Validation) && yield("Training", Train)
}

func Train(e Epoch) *Sample      { return e.Train }
func Kept(e Epoch) *Sample       { return e.Kept }
func Validation(e Epoch) *Sample { return e.Validation }

// Cost returns what all epochs used.
func (r Run) Cost() (c Cost) {
	for _, e := range r.Epochs {
		c.Calls += e.Cost.Calls
		c.PromptTokens += e.Cost.PromptTokens
		c.CompletionTokens += e.Cost.CompletionTokens
	}
	return c
}

// Tokens returns the tokens of prompts and of completions.
func (c Cost) Tokens() int64 { return c.PromptTokens + c.CompletionTokens }

// AddCounts adds numbers by name.
func AddCounts(to, from map[string]int64) {
	for name, n := range from {
		to[name] += n
	}
}

// Total returns the seconds of all stages.
func (e Epoch) Total() (total float64) {
	for _, s := range e.Seconds {
		total += s
	}
	return total
}

// Only returns a sample whose reward is a named one.
func (s *Sample) Only(name string) *Sample {
	out := &Sample{}
	if s == nil {
		return out
	}
	if v, has := s.Rewards[name]; has {
		out.Mean = &v
	}
	if e, has := s.RewardStdErrs[name]; has {
		out.StdErr = &e
	}
	return out
}

// PartsOf returns the weights of the named rewards of all epochs.
func PartsOf(epochs []Epoch, of func(Epoch) *Sample) map[string]float64 {
	out := map[string]float64{}
	for _, e := range epochs {
		if s := of(e); s != nil {
			maps.Copy(out, s.Weights)
		}
	}
	return out
}

// meanOf returns the mean reward, or nil.
func meanOf(s *Sample) *float64 {
	if s == nil {
		return nil
	}
	return s.Mean
}

// AddUp returns the funnel of the epochs.
func (r Run) AddUp() (f funnel.Funnel) {
	for _, g := range r.Gaps {
		f.Unknown = append(f.Unknown, "no finished rollout of epoch "+g)
	}
	var others []int
	for _, e := range r.Epochs {
		if e.Made.Receipt = e.Receipt; e.Made.Stages == nil {
			others = append(others, e.Epoch)
		} else if e.Train != nil || e.Kept != nil {
			f.Add(e.Epoch, e.Made)
		}
	}
	if others != nil {
		f.Unknown = append(f.Unknown, "epochs of which only the report was read: "+plural.Numbers(others))
	}
	return f
}

// Prices are those of models.
type Prices = prices.Table

// Price sets what the run and each epoch cost.
func (r *Run) Price(t Prices) {
	var all []prices.Facts
	for i := range r.Epochs {
		e := &r.Epochs[i]
		e.Money, all = t.Cost(e.Facts), append(all, e.Facts)
	}
	r.Money = t.Cost(all...)
}

// File is the file in which the report keeps a Run, as --json prints it.
const File = "report.json"

// ReadHistory returns the epochs that the last report of a run has. Without one it is
// storage.ErrNotExist.
func ReadHistory(ctx context.Context, b *storage.Bucket) ([]Epoch, error) {
	data, err := b.Read(ctx, File)
	if err != nil {
		return nil, err
	}
	var run Run
	if err := json.Unmarshal(data, &run); err != nil {
		return nil, fault.Invalid(storage.Join(b.URI(), File), "", err, "not a history of the report, which `rollmill report` makes again")
	}
	return run.Epochs, nil
}
