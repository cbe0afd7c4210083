package group_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/group"
)

// forked returns trajectories, and the same with forks of some of them after each example, or
// with those of the second half of prefixes among the attempts.
func forked(t *testing.T, apart bool) (attempts, all []formats.Trajectory) {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	rows, _ := stepped()
	for from, i := 0, 0; i <= len(rows); i++ {
		if i < len(rows) && rows[i].ExampleID == rows[from].ExampleID {
			continue
		}
		attempts = append(attempts, rows[from:i]...)
		all = append(all, rows[from:i]...)
		at := len(all) - 1
		for k, origin := range rows[from:i] {
			if len(origin.Calls) < 2 || k%2 == 1 {
				continue
			}
			call := int32(1 + r.IntN(len(origin.Calls)-1))
			for n := range 3 {
				f := origin
				f.ForkedFrom, f.ForkCall, f.Generation = origin.TrajectoryID, &call, int32(100+10*k+n)
				f.TrajectoryID = fmt.Sprintf("%s-%d", origin.TrajectoryID, n)
				f.Reward, f.ShapedRewards, f.Calls = new(float64(r.IntN(3))), nil, slices.Clone(origin.Calls)
				if origin.Status == outcomes.StatusFailed {
					f.Reward = nil
				}
				for c := range f.Calls[:call] {
					f.Calls[c].Target = false
				}
				f.SetPayloadDigest()
				if apart && n == 2 {
					all = slices.Insert(all, at, f)
				} else {
					all = append(all, f)
				}
			}
		}
		from = i
	}
	return attempts, all
}

// Forks change nothing of the attempts: neither their groups' statistics nor the report's
// figures, nor their advantages under tree. They are groups of their own.
func TestForksAreNoMembers(t *testing.T) {
	for _, apart := range []bool{false, true} {
		attempts, all := forked(t, apart)
		plain, whole := stored(t, "import", attempts, 1), stored(t, "import", all, 2)
		for _, name := range []string{"tree", "value"} {
			o := options(plain, plain+"-"+name)
			o.Estimator.Name = name
			want := grouped(t, o, 1)
			o = options(whole, whole+"-"+name)
			o.Estimator.Name = name
			var got *dataset.Dataset
			for _, shards := range []int{1, 3} {
				o.Out.URI = fmt.Sprintf("%s-%s-%d", whole, name, shards)
				again := grouped(t, o, shards)
				for _, fact := range []string{"groups", "groups_with_advantages", "groups_flat", "scored", "solved", "reward_sum"} {
					if math.Abs(want.Facts[fact]-again.Facts[fact]) > 1e-9 { // shards add up in another order
						t.Errorf("%s: %s %v, without forks %v", name, fact, again.Facts[fact], want.Facts[fact])
					}
				}
				if got == nil {
					got = again
				} else if d := cmp.Diff(byID(rowsOf[formats.Member](t, got, "")), byID(rowsOf[formats.Member](t, again, ""))); d != "" {
					t.Errorf("%s in %d shards: %s", name, shards, d)
				}
			}
			stats, forks := rowsOf[formats.GroupStats](t, got, schema.TableGroups), 0
			own := slices.DeleteFunc(stats, func(g formats.GroupStats) bool {
				if g.Forks {
					forks++
					if g.Count != 3 || g.PassAtK != nil || !strings.Contains(g.GroupID, g.ExampleID+"/") {
						t.Errorf("forks %+v", g)
					}
				}
				return g.Forks
			})
			for i := range own {
				own[i].FirstRow = 0
			}
			expected := rowsOf[formats.GroupStats](t, want, schema.TableGroups)
			for i := range expected {
				expected[i].FirstRow = 0
			}
			byName := func(a, b formats.GroupStats) int { return strings.Compare(a.GroupID, b.GroupID) }
			slices.SortFunc(own, byName)
			slices.SortFunc(expected, byName)
			if d := cmp.Diff(expected, own); d != "" || forks == 0 {
				t.Errorf("%s, %d groups of forks: %s", name, forks, d)
			}
			checkValues(t, name, rowsOf[formats.Member](t, got, ""), rowsOf[formats.Member](t, want, ""), all)
		}
	}
}

// checkValues compares the credit of each trained message with the definition.
func checkValues(t *testing.T, name string, members, before []formats.Member, rows []formats.Trajectory) {
	t.Helper()
	plain := map[string]*formats.Member{}
	for i := range before {
		plain[before[i].TrajectoryID] = &before[i]
	}
	sums := map[string][2]float64{}
	for _, m := range members {
		if m.ForkCall != nil && m.Reward != nil && m.Status != outcomes.StatusFailed {
			s := sums[m.ForkedFrom]
			sums[m.ForkedFrom] = [2]float64{s[0] + *m.Reward, s[1] + 1}
		}
	}
	credited := 0
	for i := range members {
		m := &members[i]
		if m.Advantage == nil {
			continue
		}
		if was := plain[m.TrajectoryID]; was != nil && *was.Advantage != *m.Advantage {
			t.Errorf("%s: %s has the advantage %v, without forks %v", name, m.TrajectoryID, *m.Advantage, *was.Advantage)
		}
		s, is := sums[m.TrajectoryID]
		if name != "value" || !is {
			continue
		}
		at := slices.IndexFunc(members, func(f formats.Member) bool { return f.ForkedFrom == m.TrajectoryID })
		call, row := *members[at].ForkCall, rows[i]
		row.Advantage, row.Advantages = m.Advantage, m.Advantages
		mean, first := *m.Reward-*m.Advantage, true
		for k := range row.Messages {
			if !row.Trained(k) {
				continue
			}
			want := s[0]/s[1] - mean
			if row.Messages[k].Call >= call && !first {
				want = *m.Reward - s[0]/s[1]
			}
			late := slices.ContainsFunc(row.Messages, func(x formats.Message) bool { return x.Sampled && x.Call >= call })
			if !late || first && row.Messages[k].Call >= call {
				continue // no message after the prefix trains, or none before it
			}
			first = false
			credited++
			if d := *row.AdvantageOf(k) - want; d > 1e-9 || d < -1e-9 {
				t.Errorf("%s message %d of call %d, forked at %d: %v, want %v", m.TrajectoryID, k, row.Messages[k].Call, call, *row.AdvantageOf(k), want)
			}
		}
	}
	if name == "value" && credited == 0 {
		t.Error("nothing was compared")
	}
}

// Estimators that compare attempts from the start refuse forks, and say which do not.
func TestForksAreRefused(t *testing.T) {
	_, all := forked(t, false)
	in := stored(t, "import", all, 1)
	for _, name := range []string{"grpo", "rloo", "turns"} {
		o := options(in, in+"-"+name)
		o.Estimator.Name = name
		if _, err := group.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "it is a fork") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
