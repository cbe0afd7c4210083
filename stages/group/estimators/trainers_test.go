package estimators_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/group/estimators"
)

// TestTrainersOwnNumbers compares with what each trainer's own function gave
// for the same groups (see testdata/advantages).
func TestTrainersOwnNumbers(t *testing.T) {
	for _, compat := range []group.Compat{group.CompatART, group.CompatTRL, group.CompatVerl} {
		t.Run(string(compat), func(t *testing.T) {
			for i, v := range load(t, string(compat)) {
				compare(t, i, compat, false, v.Rewards, v.Scaled)
				compare(t, i, compat, true, v.Rewards, v.Unscaled)
			}
		})
	}
}

type vector struct {
	Rewards          []*float64
	Scaled, Unscaled []*float64
}

func load(t *testing.T, name string) []vector {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "advantages", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Groups []vector }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Groups) < 300 {
		t.Fatalf("%s holds only %d groups", name, len(file.Groups))
	}
	return file.Groups
}

func compare(t *testing.T, i int, compat group.Compat, noScale bool, rewards, want []*float64) {
	t.Helper()
	a, err := estimators.GRPO.Make(estimators.GRPO.New(), group.Setup{Compat: compat, NoScale: noScale})
	if err != nil {
		t.Fatal(err)
	}
	members := make([]formats.Member, len(rewards))
	valid := 0
	for k, r := range rewards {
		members[k] = formats.Member{Status: outcomes.StatusFailed}
		if r != nil {
			members[k] = formats.Member{Status: outcomes.StatusOK, Reward: r}
			valid++
		}
	}
	g := group.Grouper{Estimator: a, Setup: group.Setup{Tolerance: training.FlatTolerance}}
	if _, err := g.Fill(members, nil); err != nil {
		t.Fatal(err)
	}
	for k, m := range members {
		got := m.Advantage
		switch {
		case rewards[k] == nil || compat == group.CompatART && valid == 1:
			if got != nil { // ART gives a singleton 0 and then drops it
				t.Errorf("group %d member %d: advantage %v, want null", i, k, *got)
			}
		case got == nil:
			t.Errorf("group %d member %d: no advantage, the trainer has %v", i, k, *want[k])
		case math.Abs(*got-*want[k]) > 1e-6*max(1, math.Abs(*want[k])):
			t.Errorf("group %d member %d: advantage %v, the trainer has %v", i, k, *got, *want[k])
		}
	}
}

// TestFlatNoise is where we differ on purpose: rounding noise of a flat group
// is no advantage, however large the rewards.
func TestFlatNoise(t *testing.T) {
	third := 1e15 / 3
	nearly := math.Nextafter(third, 1e16)
	for _, compat := range group.Compats {
		a, _ := estimators.GRPO.Make(estimators.GRPO.New(), group.Setup{Compat: compat})
		g := group.Grouper{Estimator: a, Setup: group.Setup{Tolerance: training.FlatTolerance}}
		members := []formats.Member{{Reward: &third}, {Reward: &nearly}, {Reward: &third}}
		if _, err := g.Fill(members, nil); err != nil {
			t.Fatal(err)
		}
		for _, m := range members {
			if m.Advantage == nil || *m.Advantage != 0 {
				t.Errorf("%s: advantage %v in a flat group", compat, m.Advantage)
			}
		}
	}
}
