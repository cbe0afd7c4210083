package estimators_test

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/group/estimators/estimatortest"
)

func distill(t *testing.T, set estimators.DistillSettings) group.Estimator {
	t.Helper()
	e, err := set.Estimator(group.Setup{Compat: group.CompatNone})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestDistill(t *testing.T) {
	estimatortest.Run(t, estimators.Distill)
	data, err := os.ReadFile("../../../testdata/advantages/distill.slime.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			Weight          float64
			Outcomes        []float64
			Policy, Teacher [][][]float32
			Advantages      [][][]float64
		}
	}
	if err := json.Unmarshal(data, &file); err != nil || len(file.Cases) == 0 {
		t.Fatal(err)
	}
	for n, c := range file.Cases {
		steps, out := make([][]group.Step, len(c.Policy)), make([][]group.Credit, len(c.Policy))
		for i := range steps {
			for k := range c.Policy[i] {
				steps[i] = append(steps[i], group.Step{Message: int32(2*k + 1), Logprobs: c.Policy[i][k],
					Signals: []formats.Signal{{Component: "prm", Value: 1}, {Component: "t", Values: c.Teacher[i][k]}}})
				out[i] = append(out[i], group.Credit{Value: c.Outcomes[i]})
			}
		}
		if err := distill(t, estimators.DistillSettings{Weight: c.Weight, Outcome: 1, Loss: "rl"}).Steps(nil, steps, out); err != nil {
			t.Fatal(err)
		}
		for i := range out {
			for k, credit := range out[i] {
				mean := 0.0
				for m, want := range c.Advantages[i][k] {
					mean += want / float64(len(credit.Tokens))
					if got := float64(credit.Tokens[m]); got-want > 1e-6 || want-got > 1e-6 || credit.Losses != nil {
						t.Errorf("case %d, member %d, step %d, token %d: %v, want %v", n, i, k, m, got, want)
					}
				}
				if d := cmp.Diff(mean, credit.Value, near); d != "" {
					t.Errorf("case %d: %s", n, d)
				}
			}
		}
	}
}

// TestDistillAsALoss: the trainer gets the teacher's log probabilities, and the policy
// gradient only where there is an outcome.
func TestDistillAsALoss(t *testing.T) {
	for outcome, rl := range map[float64][]training.MessageLoss{0: nil, 0.5: {{Loss: training.LossRL, Weight: 1}}} {
		e := distill(t, estimators.DistillSettings{Weight: 2, Outcome: outcome, Loss: training.LossRefKL, Teacher: "u"})
		v, advantages := new(group.Valid), make([]float64, 2)
		v.Set([]float64{1, 0})
		if ok := e.Advantages(v, advantages); !ok || math.Abs(advantages[0]-outcome) > 1e-5 || advantages[1] != -advantages[0] {
			t.Errorf("outcome %v: %v", outcome, advantages)
		}
		out := [][]group.Credit{{{Value: outcome}}}
		if err := e.Steps(nil, [][]group.Step{{{Message: 1, Logprobs: []float32{-1},
			Signals: []formats.Signal{{Component: "t", Values: []float32{-5}}, {Component: "u", Values: []float32{-3}}}}}}, out); err != nil {
			t.Fatal(err)
		}
		want := group.Credit{Value: outcome, Losses: append(rl, training.MessageLoss{Loss: training.LossRefKL, Weight: 2, Reference: []float32{-3}})}
		if d := cmp.Diff([][]group.Credit{{want}}, out); d != "" {
			t.Errorf("outcome %v: %s", outcome, d)
		}
	}
	if v := new(group.Valid); !func() bool {
		v.Set([]float64{1})
		return distill(t, estimators.DistillSettings{}).Advantages(v, make([]float64, 1))
	}() {
		t.Error("one generation has no advantage")
	}
}

func TestDistillNeedsATeacher(t *testing.T) {
	said := func(components ...string) (s group.Step) {
		for _, c := range components {
			s.Signals = append(s.Signals, formats.Signal{Component: c, Values: []float32{-1}})
		}
		s.Logprobs = []float32{-1}
		return s
	}
	long := said("t")
	long.Logprobs = []float32{-1, -1}
	for want, c := range map[string]struct {
		teacher string
		step    group.Step
	}{
		"no teacher's signal":         {"", said()},
		`no signal "u"`:               {"u", said("t")},
		"signals of several teachers": {"", said("t", "u")},
		"1 log probabilities of a teacher and 2 of the policy": {"", long},
	} {
		err := distill(t, estimators.DistillSettings{Teacher: c.teacher, Weight: 1}).Steps(nil, [][]group.Step{{c.step}}, [][]group.Credit{{{}}})
		var bad *group.BadMember
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
