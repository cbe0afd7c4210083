package history

import (
	"strings"
	"testing"
)

// TestTiles checks that rewards say of what they are, and that an epoch which only validated is in no trend of
// what training takes.
func TestTiles(t *testing.T) {
	sample := func(mean float64) *Sample { return &Sample{Mean: &mean, Trajectories: 8} }
	took := Cost{Calls: 10, CompletionTokens: 900}
	epochs := []Epoch{{Epoch: 12, Train: sample(0.5), Took: Took{Cost: took, Seconds: map[string]float64{"rollout": 9}}},
		{Epoch: 14, Train: sample(0.75), Took: Took{Cost: took, Seconds: map[string]float64{"rollout": 9}}},
		{Epoch: 15, Validation: sample(0.25), Took: Took{Cost: Cost{Calls: 1, CompletionTokens: 3}, Seconds: map[string]float64{"validation/rollout": 1}}}}
	tiles := map[string]Tile{}
	for _, tile := range Tiles(Run{Epochs: epochs}) {
		tiles[strings.ReplaceAll(tile.Name, "\u00a0", " ")] = tile
	}
	if got := tiles["Training reward, epoch 14"]; got.Value != "0.7500" || !strings.Contains(got.Note, "+0.2500 since epoch") {
		t.Errorf("%+v of %v", got, tiles)
	}
	if got := tiles["Validation reward, epoch 15"]; got.Value != "0.2500" {
		t.Errorf("%+v of %v", got, tiles)
	}
	for _, name := range []string{"Tokens", "Time"} {
		if trend := tiles[name].Trend; len(trend) != 2 || trend[0] != trend[1] {
			t.Errorf("%s: %v", name, trend)
		}
	}
	if tiles["Tokens"].Value != "1,803" || tiles["Time"].Value != "19s" {
		t.Errorf("sums without the validation: %+v", tiles)
	}
	for _, tile := range Tiles(Run{Epochs: epochs[2:]}) {
		if tile.Name == "Tokens" && len(tile.Trend) != 1 {
			t.Errorf("a run that only validates has no trend: %+v", tile)
		}
	}
}
