package ruletest

import (
	"reflect"
	"slices"

	"pgregory.net/rapid"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/curate"
)

func (s suite) members(t *rapid.T) {
	n := rapid.IntRange(1, 9).Draw(t, "members")
	members := make([]formats.Member, n)
	for i := range members {
		reward := float64(rapid.IntRange(0, 4).Draw(t, "reward")) / 4
		members[i] = formats.Member{TrajectoryID: formats.TrajectoryID("run", "e", 0, i), Status: outcomes.StatusOK,
			Reward: &reward}
	}
	b := batch(t, make([]curate.Group, rapid.IntRange(1, 3).Draw(t, "total")))
	verdicts := s.orNone(s.rule.Members(b, members), n)
	s.check(t, verdicts, n)
	slices.Reverse(members)
	back := s.orNone(s.rule.Members(b, members), n)
	slices.Reverse(back)
	if !slices.Equal(verdicts, back) {
		t.Fatalf("%v in one order, %v in the other", verdicts, back)
	}
}

// rows draws a group of all kinds of trajectories: with and without log
// probabilities, policy versions and twins.
func (s suite) rows(t *rapid.T) {
	n := rapid.IntRange(1, 7).Draw(t, "rows")
	members, whole := make([]formats.Member, n), make([]formats.Trajectory, n)
	rows := make([]curate.Row, n)
	for i := range rows {
		reward := float64(rapid.IntRange(0, 4).Draw(t, "reward")) / 4
		members[i] = formats.Member{TrajectoryID: formats.TrajectoryID("run", "e", 0, i), ExampleID: "e",
			Generation: int32(i), Status: outcomes.StatusOK, Reward: &reward}
		whole[i] = trajectory(t, members[i])
		rows[i] = curate.Row{Member: &members[i], Trajectory: &whole[i]}
	}
	was := make([]formats.Trajectory, n)
	for i := range whole {
		was[i] = whole[i]
		was[i].Messages = slices.Clone(whole[i].Messages)
	}
	g := curate.Group{ID: "e@0", ExampleID: "e", Count: n, Valid: n, Max: 1, Mean: 0.5}
	b := batch(t, make([]curate.Group, 1))
	verdicts := s.orNone(s.rule.Rows(b, g, rows), n)
	s.check(t, verdicts, n)
	if again := s.orNone(s.rule.Rows(b, g, rows), n); !slices.Equal(verdicts, again) {
		t.Fatalf("twice the same rows: %v and %v", verdicts, again)
	}
	if !reflect.DeepEqual(was, whole) {
		t.Fatal("the rule changed its rows")
	}
	slices.Reverse(rows)
	back := s.orNone(s.rule.Rows(b, g, rows), n)
	slices.Reverse(back)
	if !slices.Equal(verdicts, back) {
		t.Fatalf("%v in one order, %v in the other", verdicts, back)
	}
}
