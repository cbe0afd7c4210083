// Package estimatortest tests what every estimator must guarantee, under every
// compat that it knows.
package estimatortest

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/plugin/plugintest"
)

// Run tests an estimator under every compat and scale that it knows. The advantages
// of a group of two or more must sum to zero, except under those named by uneven, as
// "none" or "none/no-scale": there the estimator must not declare that they do.
func Run(t *testing.T, k group.EstimatorKind, uneven ...string) {
	if k.Name == "" || k.Help == "" {
		t.Error("an estimator has a name and a help phrase")
	}
	plugintest.Settings(t, func() plugin.Settings { return k.New() })
	if _, err := k.New().Estimator(group.Setup{Compat: "no such trainer"}); err == nil {
		t.Error("an unknown compat is accepted")
	}
	var declared []string
	for _, compat := range group.Compats {
		for _, noScale := range []bool{false, true} {
			s := group.Setup{Compat: compat, NoScale: noScale, Solved: 0.25}
			e, err := k.New().Estimator(s)
			if err != nil {
				continue // it does not know this compat
			}
			name := string(compat)
			if noScale {
				name += "/no-scale"
			}
			if u, ok := e.(group.Uneven); !k.ZeroSum || ok && u.Uneven() {
				declared = append(declared, name)
			}
			t.Run(name, func(t *testing.T) { suite{k, e}.run(t) })
		}
	}
	if !slices.Equal(declared, uneven) {
		t.Errorf("advantages need not sum to zero under %v, the test says %v", declared, uneven)
	}
}

type suite struct {
	group.EstimatorKind
	estimator group.Estimator
}

func (s suite) run(t *testing.T) {
	t.Run("finite", func(t *testing.T) { rapid.Check(t, s.finite) })
	t.Run("order does not matter", func(t *testing.T) { rapid.Check(t, s.order) })
	t.Run("failures are excluded", func(t *testing.T) { rapid.Check(t, s.failures) })
	t.Run("rewards are left alone", func(t *testing.T) { rapid.Check(t, s.pure) })
	if u, ok := s.estimator.(group.Uneven); s.ZeroSum && !(ok && u.Uneven()) {
		t.Run("sums to zero", func(t *testing.T) { rapid.Check(t, s.zeroSum) })
	}
}

// Lengths draws the lengths of a group of n, some of them 0 but not all.
func Lengths(n int) *rapid.Generator[[]group.Length] {
	return rapid.Custom(func(t *rapid.T) []group.Length {
		out := make([]group.Length, n)
		for i := range out {
			out[i].SampledTokens = rapid.Int32Range(0, 4000).Draw(t, "length")
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

func (s suite) advantages(r []float64, lengths []group.Length) ([]float64, bool) {
	g := group.Grouper{Estimator: s.estimator, Tolerance: formats.FlatTolerance}
	members := Members(r)
	if _, err := g.Fill(members, lengths); err != nil {
		return nil, false
	}
	out := make([]float64, 0, len(r))
	for _, m := range members {
		if m.Advantage == nil {
			return nil, false
		}
		out = append(out, *m.Advantage)
	}
	return out, true
}

// Members makes a group of valid members from rewards.
func Members(r []float64) []formats.Member {
	members := make([]formats.Member, len(r))
	for i := range r {
		members[i] = formats.Member{Status: formats.StatusOK, Generation: int32(i), Reward: &r[i]}
	}
	return members
}

func (s suite) finite(t *rapid.T) {
	r := rewards().Draw(t, "group")
	a, ok := s.advantages(r, Lengths(len(r)).Draw(t, "lengths"))
	if !ok && len(r) > 1 {
		t.Fatalf("%v has no advantages", r)
	}
	for i := range a {
		if math.IsNaN(a[i]) || math.IsInf(a[i], 0) {
			t.Fatalf("the advantage of %v in %v is %v", r[i], r, a[i])
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
	a, ok := s.advantages(r, lengths)
	b, okMoved := s.advantages(moved, movedLengths)
	if ok != okMoved {
		t.Fatalf("%v has advantages: %v; permuted: %v", r, ok, okMoved)
	}
	for i := range a {
		if a[i] != b[perm[i]] {
			t.Fatalf("reward %v has %v in %v and %v in %v", r[i], a[i], r, b[perm[i]], moved)
		}
	}
}

// failures puts failed and unscored members, with any reward, among the valid
// ones.
func (s suite) failures(t *rapid.T) {
	r := rewards().Draw(t, "group")
	lengths := Lengths(len(r)).Draw(t, "lengths")
	want, ok := s.advantages(r, lengths)
	lie := 1e6
	bad := []formats.Member{
		{Status: formats.StatusFailed}, {Status: formats.StatusFailed, Reward: &lie},
		{Status: formats.StatusSkipped, Reward: &lie}, {Status: formats.StatusOK}, {Status: formats.StatusTruncated},
	}
	var members []formats.Member
	var all []group.Length
	var place []int
	for i, m := range Members(r) {
		for rapid.Bool().Draw(t, "fails") && len(members) < 40 {
			members = append(members, rapid.SampledFrom(bad).Draw(t, "bad"))
			all = append(all, group.Length{SampledTokens: 1000})
		}
		place = append(place, len(members))
		members, all = append(members, m), append(all, lengths[i])
	}
	g := group.Grouper{Estimator: s.estimator, Tolerance: formats.FlatTolerance}
	stats, err := g.Fill(members, all)
	if err != nil || int(stats.Valid) != len(r) || int(stats.Count) != len(members) {
		t.Fatalf("%d of %d members are valid: %v", stats.Valid, stats.Count, err)
	}
	for i, p := range place {
		if a := members[p].Advantage; (a != nil) != ok || ok && *a != want[i] {
			t.Fatalf("a failure moved the advantage of %v in %v", r[i], r)
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
	a, _ := s.advantages(r, lengths)
	b, _ := s.advantages(r, lengths)
	for i := range r {
		if r[i] != was[i] {
			t.Fatalf("reward %v became %v", was[i], r[i])
		}
	}
	for i := range a {
		if a[i] != b[i] {
			t.Fatalf("twice the same group %v gives %v and %v", r, a[i], b[i])
		}
	}
}

// zeroSum allows for the rounding of r - mean, which a small std multiplies.
func (s suite) zeroSum(t *rapid.T) {
	n := rapid.IntRange(2, 12).Draw(t, "n")
	r := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), n, n).Draw(t, "rewards")
	a, ok := s.advantages(r, Lengths(n).Draw(t, "lengths"))
	if !ok {
		t.Fatalf("%v has no advantages", r)
	}
	sum, largest, spread, maxAdvantage := 0.0, 0.0, 0.0, 0.0
	for i := range r {
		sum += a[i]
		maxAdvantage = max(maxAdvantage, math.Abs(a[i]))
		largest = max(largest, math.Abs(r[i]))
		spread = max(spread, math.Abs(r[i]-r[0]))
	}
	if slack := 1e-9 + float64(n)*maxAdvantage*0x1p-48 +
		float64(n)*largest*0x1p-50*max(1, 1/(spread/float64(n)+1e-6)); math.Abs(sum) > slack {
		t.Fatalf("the advantages of %v sum to %v", r, sum)
	}
}
