package group

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"slices"

	"github.com/rollmill/rollmill/formats/outcomes"
)

// continued is the mean reward of the continuations of a trajectory before a call.
type continued struct {
	call  int32
	value float64
}

// values returns the values of the prefixes that were forked, by trajectory and in the order
// of calls.
func (src *input) values(ctx context.Context) (map[string][]continued, error) {
	type prefix struct {
		trajectory string
		call       int32
	}
	rewards := map[prefix][]float64{}
	rows, err := open[row](ctx, src, src.base.All())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	buf := make([]row, 1024)
	for {
		n, err := rows.Read(buf)
		for _, r := range buf[:n] {
			if r.ForkCall != nil && r.Reward != nil && r.Status != outcomes.StatusFailed && !math.IsNaN(*r.Reward) && !math.IsInf(*r.Reward, 0) {
				p := prefix{r.ForkedFrom, *r.ForkCall}
				rewards[p] = append(rewards[p], *r.Reward)
			}
		}
		clear(buf)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	out := map[string][]continued{}
	for p, list := range rewards {
		var v Valid
		v.Set(list)
		out[p.trajectory] = append(out[p.trajectory], continued{p.call, v.Mean})
	}
	for _, list := range out {
		slices.SortFunc(list, func(a, b continued) int { return cmp.Compare(a.call, b.call) })
	}
	return out, nil
}

// value gives the steps of a trajectory the values of its prefixes.
func value(steps []Step, known []continued) {
	for _, c := range known {
		if at := slices.IndexFunc(steps, func(s Step) bool { return s.Call >= c.call }); at >= 0 {
			steps[at].Value = new(c.value)
		}
	}
}
