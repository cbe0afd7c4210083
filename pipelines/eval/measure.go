package eval

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/prices"
	"github.com/rollmill/rollmill/pipelines/look/query"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/storage/fault"
)

// Result is the measured quality of a policy on a set of examples.
type Result struct {
	Scores     string  `json:"scores"`
	Model      string  `json:"model,omitempty"` // the models that answered, joined by commas
	Solved     float64 `json:"solved_threshold"`
	Confidence float64 `json:"confidence"`
	Figures
	ByExample []ExampleFigures   `json:"by_example"`        // in the order of the scores
	Rewards   map[string]Figures `json:"rewards,omitempty"` // by named reward, without pass@k
	Slices    []Slice            `json:"slices,omitempty"`
	Money     *prices.Cost       `json:"money,omitempty"`  // of all attempts and their scores; null without prices
	Stages    []stages.Report    `json:"stages,omitempty"` // of rollout and score, if they were run
}

// Slice holds the figures of the examples that have one value of a field.
type Slice struct {
	Field string `json:"field"`
	Value string `json:"value"` // "" for examples without the field
	Figures
}

// Measure computes the figures of a score dataset, or of that of an eval's folder. It keeps a few numbers for each
// trajectory in memory.
func Measure(ctx context.Context, uri string, o MeasureOptions) (*Result, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o.Confidence = cmp.Or(o.Confidence, 0.95)
	d, err := openScores(ctx, uri, o)
	if err != nil {
		return nil, err
	}
	examples, models, money, err := read(ctx, d, o)
	if err != nil {
		return nil, err
	}
	o.K = o.ks(examples)
	r := &Result{Scores: d.URI(), Model: strings.Join(models, ","), Solved: o.Solved, Confidence: o.Confidence,
		Figures: figures(examples, o), ByExample: []ExampleFigures{}, Rewards: named(examples, o), Money: money}
	for _, e := range examples {
		r.ByExample = append(r.ByExample, e.figures(o))
	}
	for _, field := range o.Slices {
		slices, err := sliced(examples, field, o)
		if err != nil {
			return nil, err
		}
		r.Slices = append(r.Slices, slices...)
	}
	return r, nil
}

type example struct {
	id      string
	epoch   int
	rewards []*float64 // of its trajectories, in order; nil for no reward
	failed  int        // number of trajectories that failed
	named   map[string][]*float64
	fields  map[string]any // only if slices are requested
	tokens  int64          // of all its trajectories
	micros  int64          // that they took, added up
	money   *float64       // that all their calls cost; nil if not all of it is known
}

// read groups trajectories by example and epoch, and collects the models that
// answered, and what all that was attempted and scored cost.
func read(ctx context.Context, d *dataset.Dataset, o MeasureOptions) ([]*example, []string, *prices.Cost, error) {
	base, err := d.OpenBase(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	columns := []string{"example_id", "epoch", "forked_from", "fork_call", "reward", "rewards.name", "rewards.value", "failure",
		"model", "prompt_tokens", "completion_tokens", "started_at", "finished_at"}
	if len(o.Slices) > 0 {
		columns = append(columns, "example")
	}
	if len(o.Prices) > 0 {
		columns = append(columns, "status", "attempts", "diverged", "calls.model", "calls.prompt_tokens", "calls.error",
			"calls.completion_tokens", "calls.cached_tokens", "calls.sampling", "calls.attempts", "calls.repeated")
	}
	var out []*example
	models := map[string]bool{}
	all := query.Rows(ctx, d, query.Query{Where: o.Where}, columns...)
	err = dataset.GroupsOf(all, (*query.Row).Group, func(rows []query.Row) error {
		e := &example{id: rows[0].ExampleID, epoch: int(rows[0].Epoch), named: map[string][]*float64{}}
		calls := map[string]float64{}
		for i := range rows {
			r := &rows[i]
			if r.Model != "" {
				models[r.Model] = true
			}
			if e.fields == nil && r.Example != "" {
				if err := json.Unmarshal([]byte(r.Example), &e.fields); err != nil {
					return fault.Invalid(d.URI(), "", err, "the example is not a JSON object").InRow(r.Number)
				}
			}
			e.rewards = append(e.rewards, clone(r.Reward))
			if r.Failure == outcomes.RewardTrajectory {
				e.failed++
			}
			for _, named := range r.Rewards {
				e.named[named.Name] = append(e.named[named.Name], clone(named.Value))
			}
			e.tokens += int64(r.PromptTokens) + int64(r.CompletionTokens)
			e.micros += max(0, r.FinishedAt-r.StartedAt)
			prices.Count(calls, &formats.Trajectory{Status: r.Status, Attempts: r.Attempts, Diverged: r.Diverged,
				ForkCall: r.ForkCall, Calls: r.Calls})
		}
		if money, all := o.Prices.Sum(calls); all {
			e.money = &money
		}
		if rows[0].ForkCall == nil { // a fork is no attempt at its example
			out = append(out, e)
		}
		return nil
	})
	if err == nil && len(out) == 0 && o.Where != "" {
		err = fault.Invalid(d.URI(), "choose by another --where", nil, "no attempt meets --where %q", o.Where)
	}
	return out, slices.Sorted(maps.Keys(models)), o.Prices.Cost(prices.Facts{"rollout": base.Facts, "score": d.Facts}), err
}

func clone(v *float64) *float64 {
	if v == nil {
		return nil
	}
	return new(*v)
}

// named returns the figures of each named reward. It returns nil for a single
// reward, which is the total.
func named(examples []*example, o MeasureOptions) map[string]Figures {
	names := map[string][]*float64{}
	for _, e := range examples {
		maps.Copy(names, e.named)
	}
	if len(names) < 2 {
		return nil
	}
	o.K = nil
	out := map[string]Figures{}
	for name := range names {
		part := make([]*example, len(examples))
		for i, e := range examples {
			part[i] = &example{rewards: e.named[name], failed: e.failed}
		}
		out[name] = figures(part, o)
	}
	return out
}

// sliced returns the figures of the examples for each value of a field.
func sliced(examples []*example, field string, o MeasureOptions) ([]Slice, error) {
	by := map[string][]*example{}
	for _, e := range examples {
		by[at(e.fields, field)] = append(by[at(e.fields, field)], e)
	}
	if _, none := by[""]; none && len(by) == 1 && len(examples) > 0 {
		return nil, noField(field, examples[0].fields)
	}
	var out []Slice
	for _, value := range slices.Sorted(maps.Keys(by)) {
		out = append(out, Slice{Field: field, Value: value, Figures: figures(by[value], o)})
	}
	return out, nil
}

func noField(field string, fields map[string]any) error {
	return fault.Errorf(fault.Usage, "it has "+strings.Join(slices.Sorted(maps.Keys(fields)), ", "),
		"eval: no example has a field %q", field)
}

// at returns a field's value as text; values that are not text are written as JSON.
func at(fields map[string]any, path string) string {
	value, ok := fields[path]
	if !ok {
		value = any(fields)
		for name := range strings.SplitSeq(path, ".") {
			object, _ := value.(map[string]any)
			value = object[name]
		}
	}
	if text, ok := value.(string); ok || value == nil {
		return text
	}
	data, _ := json.Marshal(value)
	return string(data)
}
