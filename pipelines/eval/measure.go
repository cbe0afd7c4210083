package eval

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
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
	Stages    []stages.Report    `json:"stages,omitempty"` // of rollout and score, if they were run
}

// Slice holds the figures of the examples that have one value of a field.
type Slice struct {
	Field string `json:"field"`
	Value string `json:"value"` // "" for examples without the field
	Figures
}

// Measure computes the figures of a score dataset. It keeps a few numbers for each
// trajectory in memory.
func Measure(ctx context.Context, uri string, o MeasureOptions) (*Result, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Confidence == 0 {
		o.Confidence = 0.95
	}
	d, err := dataset.Open(ctx, uri, dataset.OpenOptions{Kind: schema.KindScores, AcceptGates: o.AcceptGates})
	if err != nil {
		return nil, err
	}
	base, err := d.OpenBase(ctx)
	if err != nil {
		return nil, err
	}
	examples, models, err := read(ctx, d, base, o)
	if err != nil {
		return nil, err
	}
	o.K = o.ks(examples)
	r := &Result{Scores: d.URI(), Model: strings.Join(models, ","), Solved: o.Solved, Confidence: o.Confidence,
		Figures: figures(examples, o), ByExample: []ExampleFigures{}, Rewards: named(examples, o)}
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

// example holds the results on one example.
type example struct {
	id      string
	epoch   int
	rewards []*float64 // of its trajectories, in order; nil for no reward
	failed  int        // number of trajectories that failed
	named   map[string][]*float64
	fields  map[string]any // only if slices are requested
	tokens  int64          // of all its trajectories
	micros  int64          // that they took, added up
}

// light is what is read of a trajectory: the example only if slices are requested.
type light struct {
	Model            string `parquet:"model,optional,dict"`
	PromptTokens     int32  `parquet:"prompt_tokens,delta"`
	CompletionTokens int32  `parquet:"completion_tokens,delta"`
	StartedAt        int64  `parquet:"started_at,optional,timestamp(microsecond),delta"`
	FinishedAt       int64  `parquet:"finished_at,optional,timestamp(microsecond),delta"`
	Example          string `parquet:"example"`
}

// read groups trajectories by example and epoch, and collects the models that
// answered.
func read(ctx context.Context, d, base *dataset.Dataset, o MeasureOptions) ([]*example, []string, error) {
	columns := []string{"model", "prompt_tokens", "completion_tokens", "started_at", "finished_at"}
	if len(o.Slices) > 0 {
		columns = append(columns, "example")
	}
	has, err := query.Matching(ctx, d, o.Where)
	if err != nil {
		return nil, nil, err
	}
	lights, err := dataset.NewReaderOf[light](ctx, base, base.All(), columns)
	if err != nil {
		return nil, nil, err
	}
	next, stop := iter.Pull2(lights.Each(64))
	defer stop()
	var out []*example
	models := map[string]bool{}
	err = dataset.Groups(ctx, d, "", d.All(), func(s *formats.Score) string {
		return formats.GroupOf(s.ExampleID, int(s.Epoch), s.ForkedFrom, s.ForkCall)
	}, func(first int64, rows []formats.Score) error {
		e := &example{id: rows[0].ExampleID, epoch: int(rows[0].Epoch), named: map[string][]*float64{}}
		for i := range rows {
			l, err, more := next()
			if err == nil && !more {
				err = errors.New("the trajectories end before their scores do")
			}
			if err != nil {
				return err
			}
			if !has(first + int64(i)) {
				continue
			}
			if l.Model != "" {
				models[l.Model] = true
			}
			if e.fields == nil && l.Example != "" {
				if err := json.Unmarshal([]byte(l.Example), &e.fields); err != nil {
					invalid := fault.Invalid(base.URI(), "", err, "the example is not a JSON object")
					invalid.Row = first
					return invalid
				}
			}
			e.rewards = append(e.rewards, clone(rows[i].Reward))
			if rows[i].Failure == outcomes.RewardTrajectory {
				e.failed++
			}
			for _, r := range rows[i].Rewards {
				e.named[r.Name] = append(e.named[r.Name], clone(r.Value))
			}
			e.tokens += int64(l.PromptTokens) + int64(l.CompletionTokens)
			e.micros += max(0, l.FinishedAt-l.StartedAt)
		}
		if rows[0].ForkCall == nil && len(e.rewards) > 0 { // a fork is no attempt at its example
			out = append(out, e)
		}
		return nil
	})
	return out, slices.Sorted(maps.Keys(models)), err
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
	names := map[string]bool{}
	for _, e := range examples {
		for name := range e.named {
			names[name] = true
		}
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
		return nil, fault.Errorf(fault.Usage, "it has "+strings.Join(slices.Sorted(maps.Keys(examples[0].fields)),
			", "),
			"eval: no example has a field %q", field)
	}
	var out []Slice
	for _, value := range slices.Sorted(maps.Keys(by)) {
		out = append(out, Slice{Field: field, Value: value, Figures: figures(by[value], o)})
	}
	return out, nil
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
