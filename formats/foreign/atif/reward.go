package atif

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// rewards reads the reward that some programs keep in a trajectory's extra or in
// that of its final metrics: "reward", and a number for each component in
// "rewards" or in "verifier_result". Without a total, a single component is the total; several
// have none, since ATIF does not say how they add up.
func rewards(row *formats.Trajectory, o jsontext.Object) {
	extra := jsontext.ParseObject(o.Get("extra"))
	list := jsontext.ParseObject(extra.Get("rewards"))
	if list == nil {
		list = jsontext.ParseObject(jsontext.ParseObject(extra.Get("verifier_result")).Get("rewards"))
	}
	row.Reward = must.Number("extra.reward", extra.Get("reward"))
	if row.Reward == nil {
		final := jsontext.ParseObject(jsontext.ParseObject(o.Get("final_metrics")).Get("extra"))
		row.Reward = must.Number("final_metrics.extra.reward", final.Get("reward"))
	}
	for _, c := range list {
		row.Rewards = append(row.Rewards, formats.NamedReward{Name: c.Key, Value: must.Number("extra.rewards."+c.Key, c.Raw)})
		if c.Key == "reward" && row.Reward == nil {
			row.Reward = row.Rewards[len(row.Rewards)-1].Value
		}
	}
	if len(row.Rewards) == 1 && row.Reward == nil {
		row.Reward = row.Rewards[0].Value
	}
	for i := range row.Rewards {
		c := &row.Rewards[i]
		if c.Name == "reward" || len(row.Rewards) == 1 {
			c.Weight = 1
		}
		if c.Value == nil {
			c.Failure = outcomes.RewardMissing
		}
	}
}
