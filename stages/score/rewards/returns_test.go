package rewards_test

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/score/rewards"
	"github.com/rollmill/rollmill/stages/score/rewards/rewardtest"
)

func TestReturnsConformance(t *testing.T) {
	for _, arguments := range []string{"of=tree", "of=tree,gamma=0.9", "gamma=0.5", "positions,of=tree", "positions,of=tree,gamma=1,bonus=0.5",
		"of=tree,gamma=0.9,at=end"} {
		t.Run(arguments, func(t *testing.T) {
			rewardtest.Run(t, rewardtest.Suite{Kind: rewards.Returns, Arguments: arguments, Known: []string{"tree"}})
		})
	}
}

// of are the returns of a row whose reward "tree" is 2 and has such shaped
// rewards.
func of(t *testing.T, arguments string, shaped ...float64) score.Value {
	t.Helper()
	two := 2.0
	row := &score.Row{Trajectory: &formats.Trajectory{Messages: []formats.Message{
		{Parent: -1, Role: "user"}, {Parent: 0, Sampled: true}, {Parent: 1, Role: "user"}, {Parent: 2, Sampled: true}, {Parent: 3, Sampled: true},
	}, Calls: []formats.Call{{Target: true}}}}
	row.Known = []formats.NamedReward{{Name: "tree", Weight: 1, Value: &two}, {Name: "slow", Weight: 1, Failure: outcomes.RewardTimeout}}
	row.Shaped = map[string][]float64{"tree": shaped, "": {1, 1}}
	return rewardtest.Score(t, rewardtest.New(t, rewards.Returns, arguments, "tree", "slow"), []*score.Row{row})[0]
}

// TestReturns against numbers worked out by hand.
func TestReturns(t *testing.T) {
	for _, c := range []struct {
		arguments    string
		shaped, want []float64
		reward       float64
	}{
		{"of=tree", []float64{1, 2, 3}, []float64{6, 5, 3}, 6},
		{"of=tree,gamma=0.5", []float64{1, 2, 3}, []float64{1 + 1 + 0.75, 2 + 1.5, 3}, 2.75},
		{"of=tree,gamma=0.9", []float64{0, 0, 1}, []float64{0.81, 0.9, 1}, 0.81},
		{"of=tree,gamma=0.9", []float64{-1}, []float64{-1}, -1},
		{"gamma=0.5", nil, []float64{1.5, 1}, 1.5}, // of the stored ones
		{"of=tree,gamma=0.5,at=end", nil, []float64{0.5, 1, 2}, 0.5},
		// Weights 1, 0.8, 0.64 sum to 2.44; the excess is 1 at step 2, and 0.75 at step 1.
		{"positions,of=tree", []float64{0.5, 0.5, 2}, []float64{0.5 / 2.44, 0.4 / 2.44, 0.64/2.44 + 0.9025}, 1.54/2.44 + 0.9025},
		{"positions,of=tree", []float64{0.5, 1.75, 2}, []float64{0.5 / 2.44, 0.8 / 2.44, 0.64/2.44 + 0.9025}, 1.94/2.44 + 0.9025},
		{"positions,of=tree,bonus=0.5", []float64{0.5, 1.75, 2}, []float64{0.5 / 2.44, 0.8/2.44 + 0.375, 0.64 / 2.44}, 1.94/2.44 + 0.375},
		{"positions,of=tree,gamma=1", []float64{0, 1}, []float64{0, 0.5}, 0.5},
	} {
		v := of(t, c.arguments, c.shaped...)
		if v.Failure != "" || math.Abs(v.Reward-c.reward) > 1e-12 || len(v.Shaped) != len(c.want) {
			t.Errorf("%s of %v is %+v, want %v and %v", c.arguments, c.shaped, v, c.reward, c.want)
			continue
		}
		for i := range c.want {
			if math.Abs(v.Shaped[i]-c.want[i]) > 1e-12 {
				t.Errorf("%s of %v is %v, want %v", c.arguments, c.shaped, v.Shaped, c.want)
			}
		}
	}
	for arguments, want := range map[string]string{"of=tree": "gave no shaped rewards", "of=slow": "reward slow has no value",
		"of=slow,at=end": "reward slow has no value"} {
		if v := of(t, arguments); v.Failure != outcomes.RewardComponent || !strings.Contains(v.Error, want) {
			t.Errorf("%s is %+v", arguments, v)
		}
	}
}

// TestPositionsAreTheReferences holds them to what the reference example's own
// function gave; see testdata/rewards/README.md.
func TestPositionsAreTheReferences(t *testing.T) {
	data, err := os.ReadFile("../../../testdata/rewards/positions.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Values               []float64
		Gamma, Bonus, Reward float64
	}
	if err := json.Unmarshal(data, &cases); err != nil || len(cases) == 0 {
		t.Fatal(err, len(cases))
	}
	for _, c := range cases {
		arguments, _ := json.Marshal([]float64{c.Gamma, c.Bonus})
		gamma, bonus, _ := strings.Cut(strings.Trim(string(arguments), "[]"), ",")
		v := of(t, "positions,of=tree,gamma="+gamma+",bonus="+bonus, c.Values...)
		sum := 0.0
		for _, s := range v.Shaped {
			sum += s
		}
		if v.Failure != "" || math.Abs(v.Reward-c.Reward) > 1e-9 || math.Abs(sum-c.Reward) > 1e-9 {
			t.Errorf("%+v is %+v", c, v)
		}
	}
}

func TestReturnsBadArgumentsAreNamed(t *testing.T) {
	for arguments, want := range map[string]string{
		"of=tre": `no reward "tre" is computed before this one (there are: [tree])`, "of=tree,gamma=0": "gamma=0", "of=tree,gamma=1.1": "gamma=1.1",
		"of=tree,gamma=NaN":          "gamma=NaN",
		"positions,of=tree,bonus=-1": "bonus=-1", "of=tree,bonus=0.9": "positions only", "most,of=tree": `"most"`, "at=end": "needs of=NAME",
		"of=tree,at=start": "at=start", "positions,of=tree,at=end": "cannot be used with positions", "of=tree,lambda=1": `"lambda"`,
	} {
		_, err := rewards.Returns.Make(arguments, score.Setup{Known: []string{"tree"}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("returns:%s: error %v does not mention %q", arguments, err, want)
		}
	}
}
