package show

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/pipelines/look/query"
)

// Summary is what the rows of a dataset add up to.
type Summary struct {
	Statuses  map[string]int64 `json:"statuses"`
	Lacking   map[string]int64 `json:"lacking,omitempty"` // why trajectories failed, or why rewards or advantages are null
	Reward    Spread           `json:"reward"`
	Advantage Spread           `json:"advantage"`
	Prompt    Spread           `json:"prompt_tokens"`    // zero without the base
	Sampled   Spread           `json:"sampled_tokens"`   // likewise
	Lowest    string           `json:"lowest,omitempty"` // the first trajectory with the lowest reward
}

// Spread describes the values of a column that are numbers.
type Spread struct {
	Count int64   `json:"count"`
	Mean  float64 `json:"mean"`
	Min   float64 `json:"min"`
	Max   float64 `json:"max"`
	Bins  []Bin   `json:"bins,omitempty"` // of the rewards

	distinct []float64 // up to maxBins+1
}

// Bin counts the values from From to To: the last bin has both ends, and one of a
// single value has it twice.
type Bin struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Count int64   `json:"count"`
}

// Name returns the value of a bin, or its ends.
func (b Bin) Name() string {
	if b.To == b.From {
		return fmt.Sprintf("%.3g", b.From)
	}
	return fmt.Sprintf("%.3g to %.3g", b.From, b.To)
}

// maxBins is the number of lines of a histogram.
const maxBins = 6

func (s *Spread) add(v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return
	}
	if s.Count++; s.Count == 1 {
		s.Min, s.Max = v, v
	}
	s.Min, s.Max = min(s.Min, v), max(s.Max, v)
	s.Mean += (v - s.Mean) / float64(s.Count)
	if len(s.distinct) <= maxBins && !slices.Contains(s.distinct, v) {
		s.distinct = append(s.distinct, v)
	}
}

// bins makes empty bins: one for each value if these are few.
func (s *Spread) bins() {
	if len(s.distinct) <= maxBins {
		for _, v := range slices.Sorted(slices.Values(s.distinct)) {
			s.Bins = append(s.Bins, Bin{From: v, To: v})
		}
		return
	}
	at := func(i int) float64 { return s.Min*(1-float64(i)/maxBins) + s.Max*float64(i)/maxBins }
	for i := range maxBins {
		s.Bins = append(s.Bins, Bin{From: at(i), To: at(i + 1)})
	}
}

func (s *Spread) count(v float64) {
	for i := len(s.Bins) - 1; i >= 0; i-- {
		if v >= s.Bins[i].From || i == 0 {
			s.Bins[i].Count++
			return
		}
	}
}

// summarized reads the light columns of a dataset, and the tokens of its base, if that
// is there. Rewards are read twice, for the bins.
func summarized(ctx context.Context, d *dataset.Dataset) (*Summary, error) {
	s := &Summary{Statuses: map[string]int64{}, Lacking: map[string]int64{}}
	columns := []string{"trajectory_id", "status", "reward", "advantage", "failure", "no_advantage"}
	if d.Base == nil {
		columns = append(columns, "failure_class")
	}
	base, err := d.OpenBase(ctx)
	if err == nil {
		columns = append(columns, "prompt_tokens", "completion_tokens", "sampled_tokens")
	} else if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	lowest := math.Inf(1)
	for r, err := range query.Rows(ctx, d, query.Query{}, columns...) {
		if err != nil {
			return nil, err
		}
		s.Statuses[r.Status]++
		if why := cmp.Or(r.FailureClass, r.Failure, r.NoAdvantage); why != "" {
			s.Lacking[why]++
		}
		if base != nil {
			s.Prompt.add(float64(r.PromptTokens))
			if r.SampledTokens > 0 || r.CompletionTokens == 0 { // otherwise there are no logprobs to count
				s.Sampled.add(float64(r.SampledTokens))
			}
		}
		if r.Advantage != nil {
			s.Advantage.add(*r.Advantage)
		}
		if r.Reward == nil {
			continue
		}
		if s.Reward.add(*r.Reward); *r.Reward < lowest {
			lowest, s.Lowest = *r.Reward, strings.Clone(r.TrajectoryID)
		}
	}
	if s.Reward.Count == 0 {
		return s, nil
	}
	s.Reward.bins()
	for r, err := range query.Rows(ctx, d, query.Query{}, "reward") {
		if err != nil {
			return nil, err
		}
		if r.Reward != nil && !math.IsNaN(*r.Reward) && !math.IsInf(*r.Reward, 0) {
			s.Reward.count(*r.Reward)
		}
	}
	return s, nil
}
