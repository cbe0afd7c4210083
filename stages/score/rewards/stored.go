package rewards

import (
	"errors"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/score"
)

// Stored is the reward with which a trajectory came: the one that its
// agent returned, or the one that an import read.
//
//	stored                 the total
//	stored:agent           the component that the agent returned
//	stored:helpfulness     a component of an import
//
// Score computes rewards anew and keeps none of those in the trajectories, so a
// run that combines them with others names this one:
//
//	--reward own=stored --reward 'short*0.1=length:max=2000'
var Stored = score.RewardKind{Kind: plugin.Kind[score.RewardSettings]{
	Name: "stored",
	Help: "take the reward with which the trajectory came, from its agent or from an import",
	New:  func() score.RewardSettings { return &StoredSettings{} },
}}

type StoredSettings struct{ Name string }

func (s *StoredSettings) Declare(d *plugin.Declarer) {
	d.String(&s.Name, "name", "take the component of this `NAME`").DefaultShown("the total").FirstInSpec()
}

func (s *StoredSettings) Reward(score.Setup) (score.Reward, error) {
	return newOfRow(score.Description{Detail: score.Light, Stored: true}, s.value), nil
}

func (s *StoredSettings) value(row *score.Row) score.Value {
	v, err := s.stored(row.Trajectory)
	if err != nil {
		return score.Failed(outcomes.RewardMissing, "%v", err)
	}
	return score.Value{Reward: v}
}

func (s *StoredSettings) stored(t *formats.Trajectory) (float64, error) {
	if s.Name == "" {
		if t.Reward == nil {
			return 0, errors.New("the trajectory came without a reward")
		}
		return *t.Reward, nil
	}
	var names []string
	for i := range t.Rewards {
		switch c := &t.Rewards[i]; {
		case c.Name != s.Name:
			names = append(names, c.Name)
		case c.Value == nil:
			return 0, errors.New("it came without a value: " + strings.TrimSpace(c.Failure+" "+c.Error))
		default:
			return *c.Value, nil
		}
	}
	if names == nil {
		return 0, errors.New("the trajectory came without a reward")
	}
	return 0, errors.New("it came without this reward (with " + strings.Join(names, ", ") + ")")
}
