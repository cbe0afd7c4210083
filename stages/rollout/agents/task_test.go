package agents_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/rollout/agents"
)

// TestAKeyTwiceIsRefused, and one in other letters: encoding/json would take the
// last of them, and another reader another one.
func TestAKeyTwiceIsRefused(t *testing.T) {
	for output, says := range map[string]string{
		`{"reward":1,"reward":0}`:                  `the key "reward" is there twice`,
		`{"Reward":1}`:                             `the key "Reward" has to be written "reward"`,
		`{"trajectory_id":"a","Trajectory_ID":""}`: `the key "Trajectory_ID" has to be written "trajectory_id"`,
	} {
		_, err := agents.ReadResult([]byte(output))
		var failure *agents.Failure
		if !errors.As(err, &failure) || failure.Class != outcomes.FailAgentOutput || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", output, err)
		}
	}
	for output, want := range map[string]agents.Result{ // what is lost is named, and the rest stays
		`{"answer":"a","metadata":{"kl":NaN,"n":1}}`:          {Answer: new("a"), Metadata: []byte(`{"kl":null,"n":1}`), Lost: []string{"metadata.kl"}},
		`{"reward":NaN,"rewards":{"a":-Infinity,"b":2}}`:      {Rewards: map[string]float64{"b": 2}, Lost: []string{"reward", "rewards.a"}},
		`{"reward":1,"debug":{"at":[Infinity],"text":"NaN"}}`: {Reward: new(1.0), Lost: []string{"debug.at"}},
	} {
		got, err := agents.ReadResult([]byte(output))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v%s", output, err, diff)
		}
	}
	if r, err := agents.ReadResult([]byte(`{"reward":1,"metadata":{"A":1,"a":2,"a":3},"more":1,"More":2}`)); err != nil || *r.Reward != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}
