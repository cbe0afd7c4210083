// Package estimatortest tests what every estimator must guarantee, under every
// compat that it knows.
package estimatortest

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/plugin/plugintest"
)

// Run tests an estimator under every compat and scale that it knows, and two tolerances. The advantages
// of a group of two or more must sum to zero, except under those named by uneven, as
// "none" or "none/no-scale": there the estimator must not declare that they do.
func Run(t *testing.T, k group.EstimatorKind, uneven ...string) {
	if k.Name == "" || k.Help == "" {
		t.Error("an estimator has a name and a help phrase")
	}
	plugintest.Settings(t, func() plugin.Settings { return k.New() })
	if _, err := k.Make(k.New(), group.Setup{Compat: "no such trainer"}); err == nil {
		t.Error("an unknown compat is accepted")
	}
	var declared []string
	for _, compat := range group.Compats {
		for _, noScale := range []bool{false, true} {
			name, s := string(compat), group.Setup{Compat: compat, NoScale: noScale, Solved: 0.25, Tolerance: training.FlatTolerance}
			if noScale {
				name, s.Tolerance = name+"/no-scale", 0.125
			}
			e, err := k.Make(k.New(), s)
			if err != nil {
				continue // it does not know this compat
			}
			if !k.ZeroSum || e.Uneven {
				declared = append(declared, name)
			}
			t.Run(name, func(t *testing.T) { suite{k, s, e}.run(t) })
		}
	}
	if !slices.Equal(declared, uneven) {
		t.Errorf("advantages need not sum to zero under %v, the test says %v", declared, uneven)
	}
}

type suite struct {
	group.EstimatorKind
	setup     group.Setup
	estimator group.Estimator
}

func (s suite) run(t *testing.T) {
	t.Run("finite", func(t *testing.T) { rapid.Check(t, s.finite) })
	if s.estimator.Baselines == nil {
		t.Run("order does not matter", func(t *testing.T) { rapid.Check(t, s.order) })
	}
	t.Run("failures are excluded", func(t *testing.T) { rapid.Check(t, s.failures) })
	t.Run("rewards are left alone", func(t *testing.T) { rapid.Check(t, s.pure) })
	if s.ZeroSum && !s.estimator.Uneven {
		t.Run("sums to zero", func(t *testing.T) { rapid.Check(t, s.zeroSum) })
	}
}

// Signal is the component of which each step that Lengths draws has a signal.
const Signal = "signal"

// Lengths draws what the base has of a group of n: lengths, some of them 0 but not all,
// parts, and up to three steps each, whose states meet again.
func Lengths(n int) *rapid.Generator[[]group.Length] {
	return rapid.Custom(func(t *rapid.T) []group.Length {
		out := make([]group.Length, n)
		for i := range out {
			out[i].SampledTokens = rapid.Int32Range(0, 4000).Draw(t, "length")
			out[i].Part = rapid.StringMatching("[ab]").Draw(t, "part")
			for k := range rapid.Int32Range(0, 3).Draw(t, "steps") {
				value := rapid.OneOf(rapid.Float64Range(-2, 2), rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64)).Draw(t, "signal")
				out[i].Steps = append(out[i].Steps, group.Step{Message: 2 * k, State: xxh3.HashString128(rapid.StringMatching("[xy]").Draw(t, "state")),
					Logprobs: []float32{-1, -0.5}, Signals: []formats.Signal{{Message: 2 * k, Component: Signal, Value: value, Values: []float32{-2, 0}}}})
			}
		}
		out[rapid.IntRange(0, n-1).Draw(t, "sampled")].SampledTokens++
		return out
	})
}

// rewards draws groups of one to twelve: round numbers with ties, flat groups,
// and any finite number up to the largest.
func rewards() *rapid.Generator[[]float64] {
	return rapid.Custom(func(t *rapid.T) []float64 {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		one := rapid.OneOf(
			rapid.Map(rapid.IntRange(-4, 4), func(i int) float64 { return float64(i) / 4 }),
			rapid.Float64Range(-2, 2),
			rapid.Float64Range(-1e12, 1e12),
			rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64),
		)
		if rapid.IntRange(0, 4).Draw(t, "flat") == 0 {
			one = rapid.Just(one.Draw(t, "reward"))
		}
		return rapid.SliceOfN(one, n, n).Draw(t, "rewards")
	})
}

// credits returns the advantage of each member, null as NaN, and those of its steps; nil
// for a group without any.
func (s suite) credits(t *rapid.T, members []formats.Member, lengths []group.Length) [][]float64 {
	all := make([]group.Length, len(lengths))
	for i := range lengths { // steps get rewards
		all[i] = lengths[i]
		all[i].Steps = slices.Clone(lengths[i].Steps)
	}
	fresh, _ := s.Make(s.New(), s.setup) // it may remember the rows before
	g := group.Grouper{Estimator: fresh, Setup: s.setup}
	stats, err := g.Fill(members, all)
	if err != nil {
		t.Fatal(err)
	}
	out, any, valid := make([][]float64, len(members)), false, 0
	for i, m := range members {
		if m.NoAdvantage != training.NoAdvantageFailed && m.NoAdvantage != training.NoAdvantageUnscored {
			valid++
		}
		if m.Advantage == nil {
			if m.Advantages != nil || m.NoAdvantage == "" {
				t.Fatalf("member %d has no advantage: %q, and those of messages: %v", i, m.NoAdvantage, m.Advantages)
			}
			out[i] = []float64{math.NaN()}
			continue
		}
		any = true
		out[i] = append(out[i], *m.Advantage)
		row := formats.Trajectory{Advantage: m.Advantage, Advantages: m.Advantages}
		for _, step := range lengths[i].Steps {
			out[i] = append(out[i], *row.AdvantageOf(int(step.Message)))
		}
	}
	if int(stats.Valid) != valid || int(stats.Count) != len(members) {
		t.Fatalf("%d of %d members are valid, not %d of %d", stats.Valid, stats.Count, valid, len(members))
	}
	if !any {
		return nil
	}
	return out
}

// Members makes a group of valid members from rewards.
func Members(r []float64) []formats.Member {
	members := make([]formats.Member, len(r))
	for i := range r {
		members[i] = formats.Member{Status: outcomes.StatusOK, Generation: int32(i), Reward: &r[i]}
	}
	return members
}

func (s suite) finite(t *rapid.T) {
	r := rewards().Draw(t, "group")
	lengths := Lengths(len(r)).Draw(t, "lengths")
	alone := map[string]int{}
	for _, l := range lengths {
		alone[l.Part]++
	}
	parts := s.estimator.Parts != nil
	a := s.credits(t, Members(r), lengths)
	if a == nil && len(r) > 1 && !parts {
		t.Fatalf("%v has no advantages", r)
	}
	for i := range a {
		for k, x := range a[i] {
			if math.IsInf(x, 0) || math.IsNaN(x) && (k > 0 || !parts || alone[lengths[i].Part] > 1) {
				t.Fatalf("the advantages of %v in %v are %v", r[i], r, a[i])
			}
		}
	}
}

func (s suite) order(t *rapid.T) {
	r := rewards().Draw(t, "group")
	perm := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)).Perm(len(r))
	lengths := Lengths(len(r)).Draw(t, "lengths")
	moved, movedLengths := make([]float64, len(r)), make([]group.Length, len(r))
	for i, p := range perm {
		moved[p], movedLengths[p] = r[i], lengths[i]
	}
	a, b := s.credits(t, Members(r), lengths), s.credits(t, Members(moved), movedLengths)
	if (a == nil) != (b == nil) {
		t.Fatalf("%v has advantages %v; permuted: %v", r, a, b)
	}
	for i := range a {
		if !equal(a[i], b[perm[i]]) {
			t.Fatalf("reward %v has %v in %v and %v in %v", r[i], a[i], r, b[perm[i]], moved)
		}
	}
}

// equal compares to the last bit; NaN is equal to NaN.
func equal(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) })
}

// failures puts failed and unscored members, with any reward, among the valid
// ones.
func (s suite) failures(t *rapid.T) {
	r := rewards().Draw(t, "group")
	lengths := Lengths(len(r)).Draw(t, "lengths")
	want := s.credits(t, Members(r), lengths)
	lie := 1e6
	bad := []formats.Member{
		{Status: outcomes.StatusFailed}, {Status: outcomes.StatusFailed, Reward: &lie},
		{Status: outcomes.StatusSkipped, Reward: &lie}, {Status: outcomes.StatusOK}, {Status: outcomes.StatusTruncated},
	}
	var members []formats.Member
	var all []group.Length
	var place []int
	for i, m := range Members(r) {
		for rapid.Bool().Draw(t, "fails") && len(members) < 40 {
			members = append(members, rapid.SampledFrom(bad).Draw(t, "bad"))
			all = append(all, group.Length{SampledTokens: 1000, Part: "a", Steps: []group.Step{{NoState: "it failed"}}})
		}
		place = append(place, len(members))
		members, all = append(members, m), append(all, lengths[i])
	}
	got := s.credits(t, members, all)
	if (got == nil) != (want == nil) {
		t.Fatalf("%v has advantages %v; with failures: %v", r, want, got)
	}
	for i, p := range place {
		if got != nil && !equal(got[p], want[i]) {
			t.Fatalf("a failure moved the advantages of %v in %v from %v to %v", r[i], r, want[i], got[p])
		}
		members[p].Advantage = nil
	}
	for i, m := range members {
		if m.Advantage != nil {
			t.Fatalf("member %d of status %q has an advantage", i, m.Status)
		}
	}
}

func (s suite) pure(t *rapid.T) {
	r := rewards().Draw(t, "group")
	was := append([]float64(nil), r...)
	lengths := Lengths(len(r)).Draw(t, "lengths")
	a, b := s.credits(t, Members(r), lengths), s.credits(t, Members(r), lengths)
	if !slices.Equal(r, was) {
		t.Fatalf("rewards %v became %v", was, r)
	}
	if !slices.EqualFunc(a, b, equal) {
		t.Fatalf("twice the same group %v gives %v and %v", r, a, b)
	}
}

// zeroSum allows for the rounding of r - mean, which a small std multiplies.
func (s suite) zeroSum(t *rapid.T) {
	n := rapid.IntRange(2, 12).Draw(t, "n")
	r := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), n, n).Draw(t, "rewards")
	lengths := Lengths(n).Draw(t, "lengths")
	spread := spreadOf(r)
	if s.estimator.Parts != nil {
		parts := map[string][]float64{}
		for i := range r {
			parts[lengths[i].Part] = append(parts[lengths[i].Part], r[i])
		}
		for _, part := range parts {
			spread = min(spread, spreadOf(part))
		}
	}
	sum, largest, maxAdvantage := 0.0, 0.0, 0.0
	for i, a := range s.credits(t, Members(r), lengths) {
		if math.IsNaN(a[0]) {
			continue
		}
		sum += a[0]
		maxAdvantage = max(maxAdvantage, math.Abs(a[0]))
		largest = max(largest, math.Abs(r[i]))
	}
	if slack := 1e-9 + float64(n)*maxAdvantage*0x1p-48 +
		float64(n)*largest*0x1p-50*max(1, 1/(spread/float64(n)+1e-6)); math.Abs(sum) > slack {
		t.Fatalf("the advantages of %v sum to %v", r, sum)
	}
}

// spreadOf returns the largest distance from the first.
func spreadOf(r []float64) (spread float64) {
	for _, x := range r {
		spread = max(spread, math.Abs(x-r[0]))
	}
	return spread
}
