package estimators_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/group/estimators/estimatortest"
	"github.com/rollmill/rollmill/stages/plugin"
)

// near lets sums differ in their last bits.
var near = cmpopts.EquateApprox(1e-9, 1e-9)

// advantagesOfSteps returns the advantages of each member's steps, whose messages are
// 0, 2, 4, ....
func advantagesOfSteps(t *testing.T, e group.Estimator, rewards []float64, shaped [][]float64, state func(i, k int) string) [][]float64 {
	t.Helper()
	members := estimatortest.Members(rewards)
	lengths := make([]group.Length, len(members))
	for i := range members {
		members[i].ShapedRewards = shaped[i]
		for k := range shaped[i] {
			lengths[i].Steps = append(lengths[i].Steps, group.Step{Message: int32(2 * k), State: xxh3.HashString128(state(i, k))})
		}
	}
	if _, err := (&group.Grouper{Estimator: e, Setup: group.Setup{Tolerance: training.FlatTolerance}}).Fill(members, lengths); err != nil {
		t.Fatal(err)
	}
	out := make([][]float64, len(members))
	for i, m := range members {
		row := formats.Trajectory{Advantage: m.Advantage, Advantages: m.Advantages}
		for k := range shaped[i] {
			if a := row.AdvantageOf(2 * k); a != nil {
				out[i] = append(out[i], *a)
			}
		}
	}
	return out
}

func noState(int, int) string { return "" }

func turnsOf(t *testing.T, change func(*estimators.TurnsSettings), setup group.Setup) group.Estimator {
	t.Helper()
	s := estimators.Turns.New().(*estimators.TurnsSettings)
	change(s)
	e, err := s.Estimator(setup)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestSignals: with the same numbers as signals and as shaped rewards, messages have the
// same credit; one without a signal is an error that names it.
func TestSignals(t *testing.T) {
	values := [][]float64{{1, 0}, {1, 2}, {4}}
	for _, kind := range []group.EstimatorKind{estimators.Turns, estimators.GiGPO} {
		of := func(signal string) group.Estimator {
			settings := kind.New()
			for _, s := range plugin.Declared(settings) {
				if strings.HasSuffix(s.Name, "-signal") {
					if err := s.Set(signal); err != nil {
						t.Fatal(err)
					}
				}
			}
			e, err := settings.Estimator(group.Setup{Compat: group.CompatNone})
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		e := of("judge")
		if !e.Looks.Signals {
			t.Errorf("%s does not read signals", kind.Name)
		}
		want := advantagesOfSteps(t, of(""), []float64{3, 1, 0}, values, noState)
		members, lengths := estimatortest.Members([]float64{3, 1, 0}), make([]group.Length, 3)
		for i := range values {
			for k, v := range values[i] {
				lengths[i].Steps = append(lengths[i].Steps, group.Step{Message: int32(2 * k), State: xxh3.HashString128(""),
					Signals: []formats.Signal{{Message: int32(2 * k), Component: "other", Value: 9}, {Message: int32(2 * k), Component: "judge", Value: v}}})
			}
		}
		g := &group.Grouper{Estimator: e, Setup: group.Setup{Tolerance: training.FlatTolerance}}
		if _, err := g.Fill(members, lengths); err != nil {
			t.Fatal(err)
		}
		for i, m := range members {
			row := formats.Trajectory{Advantage: m.Advantage, Advantages: m.Advantages}
			for k := range values[i] {
				if got := *row.AdvantageOf(2 * k); got != want[i][k] {
					t.Errorf("%s: step %d of %d has %v by signals, %v by shaped rewards", kind.Name, k, i, got, want[i][k])
				}
			}
		}
		lengths[1].Steps[1].Signals = lengths[1].Steps[1].Signals[:1]
		_, err := g.Fill(members, lengths)
		var bad *group.BadMember
		if !errors.As(err, &bad) || bad.Member != 1 || !strings.Contains(bad.Problem, `message 2 has no signal "judge"`) || bad.Hint == "" {
			t.Errorf("%s: %+v", kind.Name, err)
		}
	}
}

func TestTurns(t *testing.T) {
	estimatortest.Run(t, estimators.Turns)
	withSignal := estimators.Turns
	withSignal.New = func() group.EstimatorSettings {
		s := estimators.Turns.New().(*estimators.TurnsSettings)
		s.Signal = estimatortest.Signal
		return s
	}
	t.Run("by signals", func(t *testing.T) { estimatortest.Run(t, withSignal) })
	// Returns with discount 1/2 are 1, 0 and 2, 2; the total is the same for both, so its
	// advantage is 0. Means are 1.5 and 1, the deviations 0.5 and 1, of which the larger divides.
	e := turnsOf(t, func(s *estimators.TurnsSettings) { s.Discount = 0.5 }, group.Setup{Compat: group.CompatNone})
	got := advantagesOfSteps(t, e, []float64{3, 3}, [][]float64{{1, 0}, {1, 2}}, noState)
	unit := 1 + 1e-6
	if d := cmp.Diff([][]float64{{-0.5 / unit, -1 / unit}, {0.5 / unit, 1 / unit}}, got, near); d != "" {
		t.Errorf("-want +got: %s", d)
	}
	// Equal returns of the first turn make nothing of the second one large.
	e = turnsOf(t, func(s *estimators.TurnsSettings) { s.Discount = 0 }, group.Setup{Compat: group.CompatNone})
	got = advantagesOfSteps(t, e, []float64{1, 1}, [][]float64{{1, 0}, {1, 2}}, noState)
	if d := cmp.Diff([][]float64{{0, -1 / unit}, {0, 1 / unit}}, got, near); d != "" {
		t.Errorf("-want +got: %s", d)
	}
	// The trajectory's advantage is added, and one that ended counts with 0.
	e = turnsOf(t, func(s *estimators.TurnsSettings) { s.Outcome = 2 }, group.Setup{Compat: group.CompatNone, NoScale: true})
	got = advantagesOfSteps(t, e, []float64{1, 4}, [][]float64{{1}, {1, 3}}, noState)
	if d := cmp.Diff([][]float64{{2*-1.5 - 1.5}, {2*1.5 + 1.5, 2*1.5 + 1.5}}, got, near); d != "" {
		t.Errorf("-want +got: %s", d)
	}
	for _, bad := range []func(*estimators.TurnsSettings){func(s *estimators.TurnsSettings) { s.Discount = 1.1 },
		func(s *estimators.TurnsSettings) { s.Discount = math.NaN() }, func(s *estimators.TurnsSettings) { s.Weight = math.Inf(1) }} {
		s := estimators.Turns.New().(*estimators.TurnsSettings)
		bad(s)
		if _, err := s.Estimator(group.Setup{Compat: group.CompatNone}); err == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
}

// perIndex is a return-to-go of rewards that are centred among the trajectories that
// reached each turn, as MT-GRPO's are.
func perIndex(shaped [][]float64) [][]float64 {
	out := make([][]float64, len(shaped))
	for i := range shaped {
		out[i] = make([]float64, len(shaped[i]))
	}
	for k := 0; ; k++ {
		sum, n := 0.0, 0.0
		for i := range shaped {
			if k < len(shaped[i]) {
				sum, n = sum+shaped[i][k], n+1
			}
		}
		if n == 0 {
			return out
		}
		for i := range shaped {
			if k < len(shaped[i]) {
				for j := 0; j <= k; j++ {
					out[i][j] += shaped[i][k] - sum/n
				}
			}
		}
	}
}

// TestStoppingIsCredited: a policy that stops after its first turn with probability 1-p,
// and else gets a reward for a second turn, has the gradient p (1-p) reward. The expected
// estimate of turns, over all groups of three, is that times 2/3, as every mean that
// includes oneself makes it; the estimate that is centred among those who went on is 0.
func TestStoppingIsCredited(t *testing.T) {
	e := turnsOf(t, func(s *estimators.TurnsSettings) { s.Outcome = 0 }, group.Setup{Compat: group.CompatNone, NoScale: true})
	for _, reward := range []float64{1, -2} {
		for _, p := range []float64{0.2, 0.5, 0.9} {
			const n = 3
			ours, theirs := 0.0, 0.0
			for bits := range 1 << n {
				chance := 1.0
				shaped, rewards := make([][]float64, n), make([]float64, n)
				for i := range n {
					if shaped[i] = []float64{0}; bits>>i&1 == 1 {
						chance *= p
						shaped[i], rewards[i] = []float64{0, reward}, reward
					} else {
						chance *= 1 - p
					}
				}
				got, biased := advantagesOfSteps(t, e, rewards, shaped, noState), perIndex(shaped)
				for i := range n {
					score := float64(bits>>i&1) - p // derivative of the log probability of what it did
					ours += chance * score * got[i][0] / n
					theirs += chance * score * biased[i][0] / n
				}
			}
			want := p * (1 - p) * reward
			if d := cmp.Diff([]float64{want * (n - 1) / n, 0}, []float64{ours, theirs}, near); d != "" {
				t.Error(fmt.Sprintf("reward %v, p %v: ", reward, p), d)
			}
		}
	}
}
