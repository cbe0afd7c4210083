package inspect

import (
	"math"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// scores reads the value of each scorer. One alone is the reward; several have
// no sum, since Inspect does not say how they add up. A failed sample has none:
// a scorer gives 0 to what an error ended.
func scores(row *formats.Trajectory, v []byte) {
	for _, s := range must.Object("scores", v) {
		score := must.Object("scores."+s.Key, s.Raw).Get("value")
		switch {
		case len(score) > 0 && score[0] == '{':
			for key, v := range jsontext.Members(score) {
				addReward(row, s.Key+"."+string(key), v)
			}
		case len(score) > 0 && score[0] == '[':
			n := 0
			for v := range jsontext.Elements(score) {
				addReward(row, s.Key+"."+strconv.Itoa(n), v)
				n++
			}
		default:
			addReward(row, s.Key, score)
		}
	}
	if len(row.Rewards) == 1 {
		row.Rewards[0].Weight = 1
		row.Reward = row.Rewards[0].Value
	}
}

func addReward(row *formats.Trajectory, name string, v []byte) {
	r := formats.NamedReward{Name: name}
	switch r.Value = number(v); {
	case row.Status == outcomes.StatusFailed:
		r.Value, r.Failure = nil, outcomes.RewardTrajectory
	case r.Value != nil:
	case len(v) == 0 || string(v) == "null":
		r.Failure = outcomes.RewardMissing
	default:
		r.Failure, r.Error = outcomes.RewardAnswer, "no number: "+importers.Brief(v)
	}
	row.Rewards = append(row.Rewards, r)
}

// numbers are the values of texts: grades as they are, words in any case.
var (
	grades = map[string]float64{"C": 1, "P": 0.5, "I": 0, "N": 0}
	words  = map[string]float64{"yes": 1, "true": 1, "no": 0, "false": 0}
)

// number returns the value of a score as Inspect's own metrics read it; nil for
// one that is no number.
func number(v []byte) *float64 {
	text := string(v)
	if len(v) > 0 && v[0] == '"' {
		text = jsontext.Unquote(v)
		if f, is := grades[text]; is {
			return &f
		}
	}
	if f, is := words[strings.ToLower(text)]; is {
		return &f
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return &f
}
