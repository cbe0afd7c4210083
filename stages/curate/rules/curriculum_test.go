package rules_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules"
	"github.com/rollmill/rollmill/stages/curate/rules/ruletest"
)

func TestCurriculum(t *testing.T) {
	half := 0.5
	for _, compat := range curate.Compats {
		for _, subsample := range []*float64{nil, &half} {
			t.Run(fmt.Sprintf("%s/subsample %v", compat, subsample != nil), func(t *testing.T) {
				s := enabled()
				s.RandomSubsample = subsample
				ruletest.Run(t, rules.Curriculum, s, compat)
			})
		}
	}
}

// enabled is the rule at its defaults.
func enabled() *rules.CurriculumSettings {
	s := rules.Curriculum.New().(*rules.CurriculumSettings)
	s.Enabled = true
	return s
}

// chain runs epochs, each with the state of the one before, and returns the
// shares.
func chain(t *testing.T, compat curate.Compat, s *rules.CurriculumSettings, epochs []int, groups func(epoch int) []curate.Group) (shares []float64,
	kept []int) {
	t.Helper()
	rule, err := s.Rule(ruletest.Setup(compat))
	if err != nil {
		t.Fatal(err)
	}
	var state json.RawMessage
	for _, e := range epochs {
		g := groups(e)
		r, err := curate.Apply(rule, curate.Batch{Epoch: e, Total: len(g), State: state}, g)
		if err != nil {
			t.Fatal(err)
		}
		if state, err = json.Marshal(r.State); err != nil {
			t.Fatal(err)
		}
		n := len(g)
		for _, v := range r.Verdicts {
			if v.Reason != "" {
				n--
			}
		}
		shares = append(shares, r.State.(decision.CurriculumState).Share)
		kept = append(kept, n)
	}
	return shares, kept
}

func ten(int) []curate.Group {
	var out []curate.Group
	for i := range 10 {
		m := float64(i) / 10
		out = append(out, curate.Group{ID: fmt.Sprint(i), Count: 4, Valid: 4, Mean: m, Min: m - 0.5, Max: m + 0.5})
	}
	return out
}

func none(int) []curate.Group { return nil }

func upTo(n int) (out []int) {
	for e := range n {
		out = append(out, e)
	}
	return out
}

func TestTwentyEpochs(t *testing.T) {
	want := map[curate.Compat]struct {
		shares string
		kept   string
	}{
		curate.CompatNone: {
			"[0.3 0.3 0.3 0.3 0.3 0.5 0.5 0.5 0.5 0.5 0.7 0.7 0.7 0.7 0.7 0.9 0.9 0.9 0.9 0.9 1]",
			"[3 3 3 3 3 5 5 5 5 5 7 7 7 7 7 9 9 9 9 9 10]",
		},
		curate.CompatNAT: {
			"[0.3 0.3 0.3 0.3 0.5 0.5 0.5 0.5 0.5 0.7 0.7 0.7 0.7 0.7 0.8999999999999999 0.8999999999999999 0.8999999999999999 0.8999999999999999 " +
				"0.8999999999999999 1 1]",
			"[3 3 3 3 5 5 5 5 5 7 7 7 7 7 9 9 9 9 9 10 10]",
		},
	}
	for compat, w := range want {
		shares, kept := chain(t, compat, enabled(), upTo(21), ten)
		if fmt.Sprint(shares) != w.shares || fmt.Sprint(kept) != w.kept {
			t.Errorf("%s:\nshares %v\n  want %s\nkept %v, want %s", compat, shares, w.shares, kept, w.kept)
		}
	}
}

// With an interval of 1, NAT never uses the initial share; we do.
func TestIntervalOne(t *testing.T) {
	for compat, want := range map[curate.Compat]float64{curate.CompatNone: 0.3, curate.CompatNAT: 0.5} {
		s := enabled()
		s.Interval = 1
		shares, _ := chain(t, compat, s, upTo(1), ten)
		if shares[0] != want {
			t.Errorf("%s begins with %v, want %v", compat, shares[0], want)
		}
	}
}

// The state advances in epochs that chose nothing, and after skipped ones.
func TestEmptyAndSkippedEpochsAdvance(t *testing.T) {
	empty, _ := chain(t, curate.CompatNone, enabled(), upTo(21), none)
	full, _ := chain(t, curate.CompatNone, enabled(), upTo(21), ten)
	if fmt.Sprint(empty) != fmt.Sprint(full) {
		t.Errorf("empty epochs give %v, full ones %v", empty, full)
	}
	for e, want := range full {
		if alone, _ := chain(t, curate.CompatNone, enabled(), []int{e}, ten); alone[0] != want {
			t.Errorf("epoch %d without --previous has share %v, want %v", e, alone[0], want)
		}
		if skipped, _ := chain(t, curate.CompatNone, enabled(), []int{0, e}, ten); skipped[1] != want {
			t.Errorf("epoch %d after epoch 0 has share %v, want %v", e, skipped[1], want)
		}
	}
	nat, _ := chain(t, curate.CompatNAT, enabled(), upTo(9), none)
	if nat[8] != 0.3 {
		t.Errorf("NAT does not expand without survivors, here it did to %v", nat[8])
	}
}

func TestEasiestOrHardestFirst(t *testing.T) {
	for ascending, want := range map[bool]string{false: "[7 8 9]", true: "[0 1 2]"} {
		s := enabled()
		s.Ascending = ascending
		rule, err := s.Rule(ruletest.Setup(curate.CompatNone))
		if err != nil {
			t.Fatal(err)
		}
		r, err := curate.Apply(rule, curate.Batch{Total: 10}, ten(0))
		if err != nil {
			t.Fatal(err)
		}
		var kept []int
		for i, v := range r.Verdicts {
			if v.Reason == "" {
				kept = append(kept, i)
			}
		}
		if fmt.Sprint(kept) != want {
			t.Errorf("ascending %v keeps %v, want %s", ascending, kept, want)
		}
	}
}
