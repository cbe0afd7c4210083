package rewards

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/score"
)

// Length penalizes overlong trajectories softly, as DAPO does. With L tokens, of which max are
// allowed and the last cache are a warning zone, the reward is
//
//	 0                      when L <= max - cache
//	((max - cache) - L) / cache    up to max
//	-1                      beyond
//
// as in length:max=4096,cache=512. It counts of=sampled (tokens whose ids were recorded; the
// default), completion (as the engine counted them) or characters (of the answer). A trajectory
// without recorded ids has no length in sampled tokens: that is a failure of its row.
var Length = score.RewardKind{Kind: plugin.Kind[score.RewardSettings]{
	Name: "length",
	Help: "penalize long trajectories: 0, falling to -1 over the last tokens before a maximum",
	New:  func() score.RewardSettings { return &LengthSettings{Of: ofSampled} },
}}

// What is counted.
const (
	ofSampled    = "sampled"
	ofCompletion = "completion"
	ofCharacters = "characters"
)

type LengthSettings struct {
	Max, Cache int
	Of         string
}

func (s *LengthSettings) Declare(d *plugin.Declarer) {
	d.Int(&s.Max, "max", "give -1 above `N` tokens")
	d.Int(&s.Cache, "cache", "fall from 0 to -1 over the last `N` tokens before max")
	plugin.Choice(d, &s.Of, "of",
		"count `WHAT`: sampled tokens, whose ids were recorded; completion tokens, as the engine counted them; or "+
			"characters of the answer", ofSampled, ofCompletion, ofCharacters)
}

func (s *LengthSettings) Reward(score.Setup) (score.Reward, error) {
	switch {
	case s.Max < 1:
		return nil, fmt.Errorf("max=%d is not a number of tokens", s.Max)
	case s.Cache < 0 || s.Cache > s.Max:
		return nil, fmt.Errorf("cache=%d is not a number of tokens up to max", s.Cache)
	}
	d := score.Description{Detail: score.Light, Columns: []string{"answer", "sampled_tokens", "completion_tokens"}}
	return newOfRow(d, s.value), nil
}

func (s *LengthSettings) value(row *score.Row) score.Value {
	n, err := s.length(row)
	if err != nil {
		return score.Failed(outcomes.RewardError, "%v", err)
	}
	return score.Value{Reward: s.penalty(n)}
}

func (s *LengthSettings) length(row *score.Row) (int, error) {
	switch s.Of {
	case ofCharacters:
		return utf8.RuneCountInString(row.Answer), nil
	case ofCompletion:
		return int(row.CompletionTokens), nil
	}
	if row.SampledTokens == 0 && row.CompletionTokens > 0 {
		return 0, errors.New("the engine gave no token ids, so sampled tokens are not known; of=completion counts as " +
			"the engine did")
	}
	return int(row.SampledTokens), nil
}

func (s *LengthSettings) penalty(n int) float64 {
	free := s.Max - s.Cache
	switch {
	case n <= free:
		return 0
	case n > s.Max:
		return -1
	default:
		return float64(free-n) / float64(s.Cache)
	}
}
