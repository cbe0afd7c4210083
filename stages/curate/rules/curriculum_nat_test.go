package rules_test

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules"
)

// sequence is a line of testdata/curriculum/nat.jsonl.gz; its README says how
// rewards are made.
type sequence struct {
	Seed                     uint64
	Initial, Increment, Diff float64
	Interval                 int
	Ascending                bool
	Subsample                *float64
	Grid                     int
	Few                      bool
	Epochs                   []curriculumEpoch
}

type curriculumEpoch struct {
	Share                float64
	Last, Total          int
	Included, Selected   []int
	Groups, Trajectories int
}

func (e *curriculumEpoch) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&e.Share, &e.Last, &e.Total, &e.Included, &e.Selected, &e.Groups, &e.Trajectories})
}

type lcg uint64

func (x *lcg) next(n int) int {
	*x = *x*6364136223846793005 + 1442695040888963407
	return int(uint64(*x>>33) % uint64(n))
}

func (s *sequence) rewards(x *lcg) [][]float64 {
	n := 14
	if s.Few {
		n = 4
	}
	out := make([][]float64, x.next(n))
	for i := range out {
		members := 0
		if x.next(10) != 0 {
			members = 1 + x.next(6)
		}
		level, narrow := x.next(s.Grid+1), x.next(3) == 0
		for range members {
			value := level
			if !narrow || x.next(2) != 0 {
				value = x.next(s.Grid + 1)
			}
			out[i] = append(out[i], float64(value)/float64(s.Grid))
		}
	}
	return out
}

func TestNATsOwnCurriculum(t *testing.T) {
	f, err := os.Open(filepath.Join("..", "..", "..", "testdata", "curriculum", "nat.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	d, n, epochs := json.NewDecoder(z), 0, 0
	for ; ; n++ {
		var s sequence
		if err := d.Decode(&s); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if err := s.replay(); err != nil {
			t.Errorf("sequence %d: %v", s.Seed, err)
		}
		epochs += len(s.Epochs)
	}
	if n != 1000 || epochs < 10000 {
		t.Errorf("only %d sequences with %d epochs", n, epochs)
	}
}

// replay runs the sequence and compares each epoch.
func (s *sequence) replay() error {
	settings := rules.CurriculumSettings{
		Enabled: true, Initial: s.Initial, Increment: s.Increment, Interval: s.Interval,
		MinRewardDiff: s.Diff, Ascending: s.Ascending, RandomSubsample: s.Subsample,
	}
	rule, err := settings.Rule(curate.Setup{Compat: curate.CompatNAT})
	if err != nil {
		return err
	}
	x := lcg(s.Seed)
	var state json.RawMessage
	for e, want := range s.Epochs {
		rewards := s.rewards(&x)
		b := curate.Batch{Epoch: e, Seed: 5, Total: len(rewards), State: state}
		r, err := curate.Apply(rule, b, groupsOf(rewards))
		if err != nil {
			return err
		}
		if err := want.compare(b, rule, r, rewards); err != nil {
			return fmt.Errorf("epoch %d: %w", e, err)
		}
		if state, err = json.Marshal(r.State); err != nil {
			return err
		}
	}
	return nil
}

func (want *curriculumEpoch) compare(b curate.Batch, rule curate.Rule, r curate.Ruling, rewards [][]float64) error {
	var included, selected []int
	trajectories := 0
	for i, group := range rewards {
		reason := ""
		if r.Verdicts != nil {
			reason = r.Verdicts[i].Reason
		}
		if len(group) > 0 && (reason == "" || reason == "subsample") {
			included = append(included, i)
		}
		if len(group) > 0 && reason == "" {
			selected = append(selected, i)
			trajectories += kept(b, rule, group)
		}
	}
	s := r.State.(decision.CurriculumState)
	if s.Share != want.Share || s.LastExpansion != want.Last || s.TotalGroups != want.Total {
		return fmt.Errorf("state %+v, NAT has %+v", s, want)
	}
	if want.Included != nil && (fmt.Sprint(included) != fmt.Sprint(want.Included) || s.Included != len(want.Included)) {
		return fmt.Errorf("included %v, NAT has %v", included, want.Included)
	}
	if want.Selected != nil && fmt.Sprint(selected) != fmt.Sprint(want.Selected) {
		return fmt.Errorf("selected %v, NAT has %v", selected, want.Selected)
	}
	if len(selected) != want.Groups {
		return fmt.Errorf("%d groups selected, NAT has %d", len(selected), want.Groups)
	}
	// Which groups an unseeded sample takes is chance, and so is their size.
	if chance := want.Selected == nil && len(selected) < len(included); !chance && trajectories != want.Trajectories {
		return fmt.Errorf("%d trajectories selected, NAT has %d", trajectories, want.Trajectories)
	}
	return nil
}

func kept(b curate.Batch, rule curate.Rule, group []float64) int {
	members := make([]formats.Member, len(group))
	for i := range members {
		members[i].TrajectoryID = fmt.Sprint(i)
	}
	n := len(group)
	for _, v := range rule.Members(b, members) {
		if v.Reason != "" {
			n--
		}
	}
	return n
}

// groupsOf takes means exactly and rounds them once, as Python's sum does for
// numbers like these from 3.12 on.
func groupsOf(rewards [][]float64) []curate.Group {
	var out []curate.Group
	for i, group := range rewards {
		g := curate.Group{ID: fmt.Sprint(i), Count: len(group), Valid: len(group)}
		sum := new(big.Float).SetPrec(500)
		for k, r := range group {
			if k == 0 {
				g.Min, g.Max = r, r
			}
			g.Min, g.Max = min(g.Min, r), max(g.Max, r)
			sum.Add(sum, big.NewFloat(r))
		}
		if len(group) > 0 {
			total, _ := sum.Float64()
			g.Mean = total / float64(len(group))
		}
		out = append(out, g)
	}
	return out
}
