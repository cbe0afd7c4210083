package inspect

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
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

// light are the columns that a summary reads, of every kind of dataset.
type light struct {
	id, status, failure string
	reward, advantage   *float64
}

// summarized reads the light columns of a dataset, and those of its base, if that
// is there. Rewards are read twice, for the bins.
func summarized(ctx context.Context, d *dataset.Dataset) (*Summary, error) {
	s := &Summary{Statuses: map[string]int64{}, Lacking: map[string]int64{}}
	lowest := math.Inf(1)
	err := eachLight(ctx, d, func(r light) {
		s.Statuses[r.status]++
		if r.failure != "" {
			s.Lacking[r.failure]++
		}
		if r.advantage != nil {
			s.Advantage.add(*r.advantage)
		}
		if r.reward == nil {
			return
		}
		if s.Reward.add(*r.reward); *r.reward < lowest {
			lowest, s.Lowest = *r.reward, strings.Clone(r.id)
		}
	})
	if err != nil {
		return nil, err
	}
	if s.Reward.Count > 0 {
		s.Reward.bins()
		err := eachLight(ctx, d, func(r light) {
			if r.reward != nil && !math.IsNaN(*r.reward) && !math.IsInf(*r.reward, 0) {
				s.Reward.count(*r.reward)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return s, s.tokens(ctx, d)
}

// tokens adds the tokens of the rows. A base that is gone has none.
func (s *Summary) tokens(ctx context.Context, d *dataset.Dataset) error {
	base, err := d.OpenBase(ctx)
	if err != nil {
		return context.Cause(ctx)
	}
	type tokens struct {
		Prompt  int32 `parquet:"prompt_tokens,delta"`
		Sampled int32 `parquet:"sampled_tokens,delta"`
	}
	for r, err := range dataset.Each[tokens](ctx, base, "", base.All()) {
		if err != nil {
			return err
		}
		s.Prompt.add(float64(r.Prompt))
		s.Sampled.add(float64(r.Sampled))
	}
	return nil
}

// eachLight calls f with the light columns of each row. f must not keep texts.
func eachLight(ctx context.Context, d *dataset.Dataset, f func(light)) error {
	switch d.Kind {
	case formats.KindScores:
		type row struct {
			ID      string   `parquet:"trajectory_id"`
			Status  string   `parquet:"status,dict"`
			Reward  *float64 `parquet:"reward,optional"`
			Failure string   `parquet:"failure,optional,dict"`
		}
		return lightOf(ctx, d, func(r *row) { f(light{r.ID, r.Status, r.Failure, r.Reward, nil}) })
	case formats.KindGroups:
		type row struct {
			ID        string   `parquet:"trajectory_id"`
			Status    string   `parquet:"status,dict"`
			Reward    *float64 `parquet:"reward,optional"`
			Advantage *float64 `parquet:"advantage,optional"`
			Failure   string   `parquet:"no_advantage,optional,dict"`
		}
		return lightOf(ctx, d, func(r *row) { f(light{r.ID, r.Status, r.Failure, r.Reward, r.Advantage}) })
	}
	type row struct {
		ID        string   `parquet:"trajectory_id"`
		Status    string   `parquet:"status,dict"`
		Failure   string   `parquet:"failure_class,optional,dict"`
		Reward    *float64 `parquet:"reward,optional"`
		Advantage *float64 `parquet:"advantage,optional"`
	}
	return lightOf(ctx, d, func(r *row) { f(light{r.ID, r.Status, r.Failure, r.Reward, r.Advantage}) })
}

func lightOf[T any](ctx context.Context, d *dataset.Dataset, f func(*T)) error {
	for r, err := range dataset.Each[T](ctx, d, "", d.All()) {
		if err != nil {
			return err
		}
		f(r)
	}
	return nil
}
