package paired

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
)

// sample is n differences of a distribution under ids of their own.
func sample(random *rand.Rand, n, draws int, one func(*rand.Rand) float64) Sample {
	s := Sample{Draws: draws}
	for i := range n {
		s.IDs, s.Differences = append(s.IDs, fmt.Sprint(random.Uint64(), i)), append(s.Differences, one(random))
	}
	return s
}

// TestReference compares with scipy 1.17.1 and statsmodels 0.15.0.
func TestReference(t *testing.T) {
	x := []float64{1, 0, 1, 1, 0, 1, 1, 1, 0, 1, 1, 0}
	y := []float64{0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1}
	var s Sample
	for i := range x {
		s.IDs, s.Differences = append(s.IDs, strconv.Itoa(i)), append(s.Differences, x[i]-y[i])
	}
	near(t, "paired permutation, all signs", s.P(), 0.375, 0)
	near(t, "McNemar 12, 5", McNemar(12, 5), 0.143463134765625, 1e-14)
	near(t, "McNemar 5, 12", McNemar(5, 12), 0.143463134765625, 1e-14)
	near(t, "McNemar 3, 3", McNemar(3, 3), 1, 0)
	near(t, "McNemar 0, 6", McNemar(0, 6), 0.03125, 1e-15)
	for i, want := range []float64{0.04, 0.09, 0.09, 0.025, 0.2} {
		near(t, "Holm", Holm([]float64{0.01, 0.04, 0.03, 0.005, 0.2})[i], want, 1e-15)
	}
	// a bootstrap cannot be matched digit by digit; the percentile band of scipy is 0.4167 to 0.9167, and ours is
	// wider by sqrt(12/11) * t(0.975, 11) / z(0.975) = 1.173 around the mean
	low, high := Sample{IDs: s.IDs, Differences: x}.Band(0.95)
	near(t, "low", low, 0.6667-0.25*1.173, 0.09)
	near(t, "high", high, 0.6667+0.25*1.173, 0.09)
}

func near(t *testing.T, what string, got, want, by float64) {
	t.Helper()
	if !(math.Abs(got-want) <= by) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// TestOrderDoesNotMatter: examples in another order, or beside others, are drawn alike.
func TestOrderDoesNotMatter(t *testing.T) {
	s := sample(rand.New(rand.NewPCG(1, 2)), 40, 0, (*rand.Rand).NormFloat64)
	low, high := s.Band(0.95)
	p := s.P()
	slices.Reverse(s.IDs)
	slices.Reverse(s.Differences)
	l, h := s.Band(0.95)
	near(t, "low", l, low, 1e-12)
	near(t, "high", h, high, 1e-12)
	near(t, "p", s.P(), p, 0)
	s.Seed = 1
	if l, _ := s.Band(0.95); l == low {
		t.Error("another seed draws the same")
	}
}

// TestCoverage: over simulated pairs without a difference, the band covers 0 in 93 to 97 %,
// and p is uniform. COUNT sets the number of pairs.
func TestCoverage(t *testing.T) {
	count, _ := strconv.Atoi(os.Getenv("COUNT"))
	count = max(count, 2000)
	for name, c := range map[string]struct {
		n   int
		one func(*rand.Rand) float64
	}{
		"normal":    {20, (*rand.Rand).NormFloat64},
		"many":      {60, (*rand.Rand).NormFloat64},
		"rates":     {40, func(r *rand.Rand) float64 { return float64(r.IntN(5)-r.IntN(5)) / 4 }},
		"solved":    {60, func(r *rand.Rand) float64 { return float64(r.IntN(2) - r.IntN(2)) }},
		"long tail": {40, func(r *rand.Rand) float64 { return r.ExpFloat64() - r.ExpFloat64() }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(3, uint64(c.n)))
			covered, deciles := 0, [10]int{}
			for range count {
				s := sample(random, c.n, 500, c.one)
				if low, high := s.Band(0.95); low <= 0 && 0 <= high {
					covered++
				}
				deciles[min(int(s.P()*10), 9)]++
			}
			if share := float64(covered) / float64(count); share < 0.93 || share > 0.97 {
				t.Errorf("the band covers %.4f", share)
			}
			if name == "solved" || name == "rates" {
				return // few sums are possible: p has steps
			}
			chi2, want := 0.0, float64(count)/10
			for _, n := range deciles {
				chi2 += (float64(n) - want) * (float64(n) - want) / want
			}
			if chi2 > 27.9 { // of 9 degrees of freedom, one in a thousand
				t.Errorf("p is not uniform: chi2 %.1f, deciles %v", chi2, deciles)
			}
		})
	}
}

// TestPower: a difference of half a standard deviation in 100 examples is found.
func TestPower(t *testing.T) {
	s := sample(rand.New(rand.NewPCG(5, 6)), 100, 0, func(r *rand.Rand) float64 { return 0.5 + r.NormFloat64() })
	if low, high := s.Band(0.95); low <= 0 || high >= 1 || s.P() > 0.05 {
		t.Errorf("band %v to %v, p %v", low, high, s.P())
	}
}

func BenchmarkBand(b *testing.B) {
	s := sample(rand.New(rand.NewPCG(1, 2)), 1000, 0, (*rand.Rand).NormFloat64)
	for b.Loop() {
		s.Band(0.95)
	}
}
