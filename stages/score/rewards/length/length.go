// Package length punishes overlong trajectories as DAPO does, softly: with L
// tokens, at most max, and the last cache of them a zone of warning, it gives
//
//	 0                      when L <= max - cache
//	((max - cache) - L) / cache    up to max
//	-1                      beyond
//
// as in length:max=4096,cache=512. What is counted is of=sampled (tokens whose
// ids were recorded; the default), completion (as the engine counted them) or
// characters (of the answer). A trajectory without recorded ids has no length
// in sampled tokens: that is a failure of its row.
package length

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/score"
)

// Kind is the reward's entry in the registry.
var Kind = score.Kind{
	Name:  "length",
	Usage: "max=N[,cache=N][,of=sampled|completion|characters]; 0, falling to -1 over the last cache tokens before max",
	New:   newReward,
}

type reward struct {
	max, cache int
	of         string
}

func newReward(s score.Setup) (score.Reward, error) {
	a, err := score.ParseArguments(s.Arguments, "max", "cache", "of")
	if err != nil {
		return nil, err
	}
	r := &reward{of: a.Value("of", "sampled")}
	var maxErr, cacheErr error
	r.max, maxErr = strconv.Atoi(a.Value("max", ""))
	r.cache, cacheErr = strconv.Atoi(a.Value("cache", "0"))
	switch {
	case a.Mode != "":
		return nil, fmt.Errorf("%q is not one of the options max, cache, of", a.Mode)
	case maxErr != nil || r.max < 1:
		return nil, fmt.Errorf("max=%s is not a number of tokens", a.Value("max", ""))
	case cacheErr != nil || r.cache < 0 || r.cache > r.max:
		return nil, fmt.Errorf("cache=%s is not a number of tokens up to max", a.Value("cache", ""))
	case r.of != "sampled" && r.of != "completion" && r.of != "characters":
		return nil, fmt.Errorf("of=%s is not one of sampled, completion, characters", r.of)
	}
	return r, nil
}

func (r *reward) Needs() score.Needs { return score.Light }
func (r *reward) Close() error       { return nil }

func (r *reward) Score(ctx context.Context, rows []*score.Row, values []score.Value) error {
	for i, row := range rows {
		n, err := r.length(row)
		if err != nil {
			values[i] = score.Failed(formats.RewardError, "%v", err)
			continue
		}
		values[i] = score.Value{Reward: r.penalty(n)}
	}
	return ctx.Err()
}

func (r *reward) length(row *score.Row) (int, error) {
	switch r.of {
	case "characters":
		return utf8.RuneCountInString(row.Answer), nil
	case "completion":
		return int(row.CompletionTokens), nil
	}
	if row.SampledTokens == 0 && row.CompletionTokens > 0 {
		return 0, errors.New("the engine gave no token ids, so sampled tokens are not known; of=completion counts as the engine did")
	}
	return int(row.SampledTokens), nil
}

func (r *reward) penalty(n int) float64 {
	free := r.max - r.cache
	switch {
	case n <= free:
		return 0
	case n > r.max:
		return -1
	default:
		return float64(free-n) / float64(r.cache)
	}
}
