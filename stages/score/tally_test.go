package score

import (
	"math"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
)

// A sum that no number holds is an error that names the row: a manifest is JSON.
func TestASumThatOverflowsNamesItsRow(t *testing.T) {
	for _, rewards := range [][]formats.NamedReward{nil, {{Name: "big", Value: new(math.MaxFloat64), Weight: 0}}} {
		tally := newTally()
		total := math.MaxFloat64
		if rewards != nil {
			total = 1
		}
		first := &formats.Score{TrajectoryID: "t0", Reward: &total, Rewards: rewards}
		second := &formats.Score{TrajectoryID: "t1", Reward: &total, Rewards: rewards}
		if err := tally.add(first); err != nil {
			t.Fatal(err)
		}
		if err := tally.add(second); err == nil || !strings.Contains(err.Error(), `overflows at trajectory "t1"`) {
			t.Errorf("%v", err)
		}
	}
}
