package rules_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules"
	"github.com/rollmill/rollmill/stages/curate/rules/ruletest"
)

func settings(easy, hard float64) *rules.PoolsSettings {
	return &rules.PoolsSettings{Enabled: true, EasyFrom: 0.9, EasyShare: easy, HardShare: hard}
}

func TestPools(t *testing.T) { ruletest.Run(t, rules.Pools, settings(0.3, 0.5), curate.CompatNone) }

// poolsEpoch judges one group of each example, of this share solved; -1 is without
// valid members.
func poolsEpoch(t *testing.T, o *rules.PoolsSettings, n int, before any, solved map[string]float64) (curate.Ruling, []curate.Group) {
	t.Helper()
	var groups []curate.Group
	for _, id := range []string{"a", "b", "c", "d"} {
		s, here := solved[id]
		if !here {
			continue
		}
		g := curate.Group{ID: fmt.Sprint(id, "@", n), ExampleID: id, Epoch: n, Count: 4, Valid: 4, Solved: s}
		if s < 0 {
			g.Valid, g.Solved = 0, 0
		}
		groups = append(groups, g)
	}
	rule, err := o.Rule(curate.Setup{})
	if err != nil {
		t.Fatal(err)
	}
	b := curate.Batch{Epoch: n, Seed: 7}
	if before != nil {
		if b.State, err = json.Marshal(before); err != nil {
			t.Fatal(err)
		}
	}
	r, err := curate.Apply(rule, b, groups)
	if err != nil {
		t.Fatal(err)
	}
	return r, groups
}

// TestExamplesMove into the pool of their last group, and are taken by the
// pool that they were in before it.
func TestExamplesMove(t *testing.T) {
	o := settings(0, 0)
	first, _ := poolsEpoch(t, o, 0, nil, map[string]float64{"a": 1, "b": 0, "c": 0.5, "d": 0.95})
	for i, v := range first.Verdicts {
		if v.Reason != "" {
			t.Errorf("group %d of the first epoch: %+v", i, v)
		}
	}
	if diff := cmp.Diff(decision.PoolsState{Easy: []string{"a", "d"}, Hard: []string{"b"}}, first.State); diff != "" {
		t.Error(diff)
	}
	second, _ := poolsEpoch(t, o, 1, first.State, map[string]float64{"a": 0.5, "b": -1, "c": 1})
	want := []curate.Verdict{
		{Reason: "pool", Detail: "it was easy; a share of 0 is taken"},
		{Reason: "pool", Detail: "it was hard; a share of 0 is taken"}, {},
	}
	if !slices.Equal(want, second.Verdicts) {
		t.Errorf("%+v", second.Verdicts)
	}
	// a came back, b had nobody to tell, c is solved now, d was not rolled out.
	if diff := cmp.Diff(decision.PoolsState{Epoch: 1, Easy: []string{"c", "d"}, Hard: []string{"b"}}, second.State); diff != "" {
		t.Error(diff)
	}
}

// TestOldGroupsMoveNoExample who was moved since; one that was never seen is
// moved by the newest there is.
func TestOldGroupsMoveNoExample(t *testing.T) {
	rule, err := settings(1, 1).Rule(curate.Setup{})
	if err != nil {
		t.Fatal(err)
	}
	group := func(id string, epoch int, solved float64) curate.Group {
		return curate.Group{ID: fmt.Sprint(id, "@", epoch), ExampleID: id, Epoch: epoch, Count: 4, Valid: 4, Solved: solved}
	}
	state, err := json.Marshal(decision.PoolsState{Epoch: 1, Easy: []string{"a"}, Hard: []string{"b"}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := curate.Apply(rule, curate.Batch{Epoch: 3, State: state}, []curate.Group{
		group("c", 3, 0), group("a", 0, 0), group("b", 1, 0.5), group("d", 0, 1), group("b", 2, 1), group("e", 2, 0), group("e", 3, 0.5),
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(decision.PoolsState{Epoch: 3, Easy: []string{"a", "b"}, Hard: []string{"c"}}, r.State); diff != "" {
		t.Error(diff)
	}
	first, err := curate.Apply(rule, curate.Batch{Epoch: 3}, []curate.Group{group("a", 3, 0.5), group("a", 0, 1), group("b", 0, 0), group("b", 1, 1)})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(decision.PoolsState{Epoch: 3, Easy: []string{"b"}}, first.State); diff != "" {
		t.Error(diff)
	}
}

// TestSharesOfPools: about the share of each pool is taken, another one each epoch.
func TestSharesOfPools(t *testing.T) {
	rule, err := settings(0.3, 0.6).Rule(curate.Setup{})
	if err != nil {
		t.Fatal(err)
	}
	var s decision.PoolsState
	groups := make([]curate.Group, 8000)
	for i := range groups {
		groups[i] = curate.Group{ExampleID: fmt.Sprint("e", i), Valid: 2, Solved: 0.5}
		if i%2 == 0 {
			s.Easy = append(s.Easy, groups[i].ExampleID)
		} else {
			s.Hard = append(s.Hard, groups[i].ExampleID)
		}
	}
	state, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	both := 0
	taken := [2][]bool{}
	for n := range taken {
		for i := range groups {
			groups[i].ID = fmt.Sprint(groups[i].ExampleID, "@", n)
		}
		r, err := curate.Apply(rule, curate.Batch{Epoch: n, State: state}, groups)
		if err != nil {
			t.Fatal(err)
		}
		count := [2]int{}
		for i, v := range r.Verdicts {
			taken[n] = append(taken[n], v.Reason == "")
			if v.Reason == "" {
				count[i%2]++
				if n == 1 && taken[0][i] {
					both++
				}
			}
		}
		if count[0] < 1080 || count[0] > 1320 || count[1] < 2280 || count[1] > 2520 {
			t.Errorf("epoch %d: %d of 4000 easy and %d of 4000 hard groups", n, count[0], count[1])
		}
	}
	if both < 1600 || both > 2000 { // 4000 * (0.09 + 0.36)
		t.Errorf("%d groups in both epochs", both)
	}
}
