package joined

import (
	"slices"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
)

// TestGroupsKeepTheirTokens: the memory of a group's tokens is used again, but not
// before the group ends. Groups have more rows than are read at once, and pages of
// their own.
func TestGroupsKeepTheirTokens(t *testing.T) {
	groups := slices.Collect(randomtest.Trajectories(1, randomtest.Options{Groups: 8, Generations: 20, SampledTokens: 300, PromptTokens: 100, Scored: true}))
	d := write(t, "mem://groups-keep-tokens", manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories}, groups...)
	s, err := Of(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	places := map[*int32]int{} // of ids: how many groups had them there
	n := 0
	err = s.Groups(t.Context(), nil, func(rows []formats.Trajectory) error {
		for i := range rows {
			for k := range rows[i].Messages {
				got, want := &rows[i].Messages[k], &groups[n][i].Messages[k]
				if !slices.Equal(got.TokenIDs, want.TokenIDs) || !slices.Equal(got.Logprobs, want.Logprobs) ||
					!slices.Equal(got.PromptDeltaIDs, want.PromptDeltaIDs) {
					t.Fatalf("message %d of row %d of group %d has other tokens", k, i, n)
				}
				if len(got.TokenIDs) > 0 {
					places[&got.TokenIDs[0]]++
				}
			}
			if got, want := *rows[i].Reward, *groups[n][i].Reward; got != want {
				t.Fatalf("row %d of group %d has reward %v, not %v", i, n, got, want)
			}
		}
		n++
		return nil
	})
	if err != nil || n != len(groups) {
		t.Fatalf("%d of %d groups: %v", n, len(groups), err)
	}
	again := 0
	for _, n := range places {
		again = max(again, n)
	}
	if again < 2 {
		t.Error("no memory was used again")
	}
}
