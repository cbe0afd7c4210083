package eval

import (
	"math"
	"slices"

	"github.com/rollmill/rollmill/formats"
)

// Figures are the results on a set of examples.
type Figures struct {
	Examples     int `json:"examples"`
	Trajectories int `json:"trajectories"`
	Failed       int `json:"failed"`   // trajectories that failed
	Unscored     int `json:"unscored"` // trajectories that did not fail but have no reward

	Mean   *Estimate `json:"mean"`   // mean of the examples' mean rewards
	Solved *Estimate `json:"solved"` // mean of the examples' shares of solved trajectories
	Std    *float64  `json:"std"`    // standard deviation of all rewards, divisor n-1
	Min    *float64  `json:"min"`
	Max    *float64  `json:"max"`
	// the mean of the examples' own standard deviations, where these have two or more rewards
	Within  *float64  `json:"std_within"`
	PassAtK []PassAtK `json:"pass_at_k,omitempty"`

	// of all trajectories, divided by the solved ones; null if none is
	TokensPerSolve  *float64 `json:"tokens_per_solve,omitempty"`
	SecondsPerSolve *float64 `json:"seconds_per_solve,omitempty"`
}

// Estimate is a mean over examples with its confidence interval, which is null for
// fewer than two examples.
type Estimate struct {
	Value    float64  `json:"value"`
	Low      *float64 `json:"low"`
	High     *float64 `json:"high"`
	Examples int      `json:"examples"`
}

// PassAtK is the probability that at least one of k attempts is solved.
type PassAtK struct {
	K int `json:"k"`
	Estimate
	LeftOut int `json:"left_out"` // examples with fewer than k attempts
}

// ExampleFigures are the results on one example.
type ExampleFigures struct {
	ID           string           `json:"id"`
	Epoch        int              `json:"epoch"`
	Trajectories int              `json:"trajectories"`
	Failed       int              `json:"failed"`   // trajectories that failed
	Attempts     int              `json:"attempts"` // trajectories with a reward; all of them with FailuresCount
	Solved       int              `json:"solved"`
	PassAtK      []ExamplePassAtK `json:"pass_at_k,omitempty"`
	Low          *float64         `json:"low"` // with High the Wilson score interval of pass@1; null without attempts
	High         *float64         `json:"high"`
	Tokens       *float64         `json:"tokens"` // with Seconds the mean of all trajectories; null if no tokens are recorded
	Seconds      *float64         `json:"seconds"`
}

// ExamplePassAtK is pass@k of one example, null if it has fewer than k attempts.
type ExamplePassAtK struct {
	K     int      `json:"k"`
	Value *float64 `json:"value"`
}

// figures computes pass@k for the values in o.K, none for nil.
func figures(examples []*example, o MeasureOptions) Figures {
	f := Figures{Examples: len(examples), PassAtK: passAtK(examples, o)}
	var all, means, shares, within []float64
	solved, tokens, micros := 0, int64(0), int64(0)
	for _, e := range examples {
		rewards := known(e.rewards)
		f.Trajectories += len(e.rewards)
		f.Failed += e.failed
		f.Unscored += len(e.rewards) - len(rewards) - e.failed
		all = append(all, rewards...)
		if len(rewards) > 0 {
			means = append(means, mean(rewards))
		}
		if len(rewards) > 1 {
			within = append(within, std(rewards))
		}
		n, c := e.attempts(o)
		solved, tokens, micros = solved+c, tokens+e.tokens, micros+e.micros
		if n > 0 {
			shares = append(shares, float64(c)/float64(n))
		}
	}
	lowest, highest := math.Inf(-1), math.Inf(1)
	if !slices.ContainsFunc(all, func(r float64) bool { return r != 0 && r != 1 }) { // a rate
		lowest, highest = 0, 1
	}
	f.Mean = estimate(means, o.Confidence, lowest, highest)
	f.Solved = estimate(shares, o.Confidence, 0, 1)
	if len(all) > 0 {
		f.Min, f.Max = new(slices.Min(all)), new(slices.Max(all))
	}
	if len(all) > 1 {
		f.Std = new(std(all))
	}
	if len(within) > 0 {
		f.Within = new(mean(within))
	}
	if solved > 0 && tokens > 0 {
		f.TokensPerSolve, f.SecondsPerSolve = new(float64(tokens)/float64(solved)), new(float64(micros)/1e6/float64(solved))
	}
	return f
}

func (e *example) figures(o MeasureOptions) ExampleFigures {
	n, c := e.attempts(o)
	f := ExampleFigures{ID: e.id, Epoch: e.epoch, Trajectories: len(e.rewards), Failed: e.failed, Attempts: n, Solved: c}
	for _, k := range o.K {
		f.PassAtK = append(f.PassAtK, ExamplePassAtK{K: k})
		if n >= k {
			f.PassAtK[len(f.PassAtK)-1].Value = new(formats.PassAtK(n, c, k))
		}
	}
	if n > 0 {
		f.Low, f.High = new(wilson(n, c, o.Confidence)), new(1-wilson(n, n-c, o.Confidence))
	}
	if all := float64(len(e.rewards)); e.tokens > 0 {
		f.Tokens, f.Seconds = new(float64(e.tokens)/all), new(float64(e.micros)/1e6/all)
	}
	return f
}

// attempts returns the number of an example's trajectories for pass@k, and of the
// solved ones.
func (e *example) attempts(o MeasureOptions) (n, solved int) {
	for _, r := range e.rewards {
		if r != nil || o.FailuresCount {
			n++
		}
		if r != nil && *r >= o.Solved {
			solved++
		}
	}
	return n, solved
}

// ks returns the values for pass@k, sorted: those asked for, or the powers of two up to the
// most attempts of an example.
func (o MeasureOptions) ks(examples []*example) []int {
	ks := slices.Clone(o.K)
	for _, e := range examples {
		for n, _ := e.attempts(o); o.K == nil && 1<<len(ks) <= n; {
			ks = append(ks, 1<<len(ks))
		}
	}
	slices.Sort(ks)
	return slices.Compact(ks)
}

func passAtK(examples []*example, o MeasureOptions) (out []PassAtK) {
	for _, k := range o.K {
		var chances []float64
		for _, e := range examples {
			if n, c := e.attempts(o); n >= k {
				chances = append(chances, formats.PassAtK(n, c, k))
			}
		}
		p := PassAtK{K: k, LeftOut: len(examples) - len(chances)}
		if e := estimate(chances, o.Confidence, 0, 1); e != nil {
			p.Estimate = *e
			out = append(out, p)
		}
	}
	return out
}
