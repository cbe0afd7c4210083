package live

import (
	"slices"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/journals"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/prices"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/look/history"
)

// TestAnAttemptThatIsMadeAgainCountsOnce: its cost counts each time.
func TestAnAttemptThatIsMadeAgainCountsOnce(t *testing.T) {
	j := &Journal{journalled: journalled{at: map[string]int{}, shards: map[int]*totals{}}}
	failed := &Attempt{TrajectoryID: "a", Status: outcomes.StatusFailed, FailureClass: outcomes.FailTimeout, StopReason: "error", PromptTokens: 5}
	j.add(failed)
	j.add(&Attempt{TrajectoryID: "a", Status: outcomes.StatusOK, StopReason: outcomes.StopDone, PromptTokens: 5})
	j.add(failed)
	if s := j.Totals(); s.Rows != 1 || s.Failed != 0 || s.Prompt != 15 || s.Classes[outcomes.FailTimeout] != 0 || s.Stops[outcomes.StopDone] != 1 ||
		len(j.Attempts) != 1 {
		t.Errorf("%+v", s)
	}
}

// TestAFinishedShardCountsOnce: a reader that saw its segments, which are removed then, and one
// that comes later count the same rows, and list the attempts that can still be read.
func TestAFinishedShardCountsOnce(t *testing.T) {
	uri := t.TempDir()
	write := func(n int) *shards.Shard {
		shard, err := shards.Begin(t.Context(), uri, manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories}, shards.Options{Shard: n, Of: 2})
		if err != nil {
			t.Fatal(err)
		}
		row := formats.Trajectory{TrajectoryID: []string{"a", "b"}[n], Status: outcomes.StatusFailed, FailureClass: outcomes.FailTimeout,
			StopReason: "error", PromptTokens: 5, Attempts: 1, Calls: []formats.Call{{Model: "m", PromptTokens: 5, CachedTokens: 4}, {Model: "user"}}}
		j, err := journals.Open[formats.Trajectory](t.Context(), shard.Journal())
		if err == nil {
			err = j.Append(t.Context(), []formats.Trajectory{row})
		}
		if err == nil {
			err = shards.NewTable[formats.Trajectory](shard, "", -1).Write(t.Context(), []formats.Trajectory{row})
		}
		if err != nil {
			t.Fatal(err)
		}
		return shard
	}
	first := write(0)
	write(1)
	var before, later Journal
	check := func(j *Journal, attempts int) {
		t.Helper()
		if err := j.Refresh(t.Context(), uri); err != nil {
			t.Fatal(err)
		}
		if all := j.Totals(); all.Rows != 2 || all.Failed != 2 || all.Prompt != 10 || all.Classes[outcomes.FailTimeout] != 2 || len(j.Attempts) != attempts {
			t.Errorf("%+v of %d attempts", all, len(j.Attempts))
		}
		tiles := j.Tiles(prices.Table{"m": {Input: 1e6, Cached: 1e5}}, time.Now())
		spend := slices.IndexFunc(tiles, func(tile history.Tile) bool { return tile.Name == "Spend" })
		if spend < 0 || tiles[spend].Value != "at least 2.8" || tiles[spend].Note != "rollout 2.8, m 2.8, 2 of 4 calls: no price for user" {
			t.Errorf("spend: %+v", tiles)
		}
	}
	check(&before, 2)
	if _, err := first.Commit(t.Context(), shards.Outcome{Counts: map[string]int64{outcomes.StatusFailed: 1},
		Facts: prices.Call(prices.Call(map[string]float64{"prompt_tokens": 5}, "m", 5, 0, 4), "user", 0, 0, 0), Failures: map[string]int64{outcomes.FailTimeout: 1}}); err != nil {
		t.Fatal(err)
	}
	check(&before, 1)
	check(&later, 1)
	if members, _, err := before.Members("", "a"); err == nil {
		t.Errorf("rows that are gone: %v", members)
	}
}
