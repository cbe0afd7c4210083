package nat

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// scores makes rewards of what the evaluators say of an item, and returns what
// no column has. A failed row has no reward.
func scores(r *importers.Record, row *formats.Trajectory) (rest jsontext.Object) {
	chosen, named := r.Mapped("reward")
	found := false
	all := value.Context(r)
	for _, f := range all {
		o := jsontext.ParseObject(f.Raw)
		reward := score(f.Key, o)
		if row.Status == outcomes.StatusFailed { // it was scored for what it did not do
			reward.Value, reward.Failure = nil, outcomes.RewardTrajectory
		}
		if len(all) == 1 && !named || named && f.Key == chosen {
			reward.Weight, found = 1, true
			row.Reward = reward.Value
		}
		row.Rewards = append(row.Rewards, reward)
		o.Drop("error")
		if reward.Value != nil {
			o.Drop("score")
		}
		if len(o) > 0 {
			rest = append(rest, jsontext.Member{Key: f.Key, Raw: o.Bytes()})
		}
	}
	if named && len(all) > 0 && !found {
		must.Fail("no evaluator %q of --map reward has a score for it", chosen)
	}
	return rest
}

// score returns a score as a reward. A score that is no number is none.
func score(name string, o jsontext.Object) formats.NamedReward {
	reward := formats.NamedReward{Name: name, Error: must.Text(name+".error", o.Get("error"))}
	switch v := string(o.Get("score")); {
	case reward.Error != "":
		reward.Failure = outcomes.RewardError
	case v == "true", v == "false":
		reward.Value = new(float64)
		if v == "true" {
			*reward.Value = 1
		}
	case v != "" && (v[0] == '-' || '0' <= v[0] && v[0] <= '9'):
		reward.Value = must.Number(name+".score", o.Get("score"))
	}
	if reward.Value == nil && reward.Failure == "" {
		reward.Failure = outcomes.RewardMissing
	}
	return reward
}
