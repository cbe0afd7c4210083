package ranks_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"

	"github.com/rollmill/rollmill/formats/ranks"
)

// TestSpearman compares with figures computed by hand, and with the definition for
// values without ties: 1 - 6 sum d² / (n (n² - 1)).
func TestSpearman(t *testing.T) {
	if rho := ranks.Spearman([]float64{1, 2, 2, 4}, []float64{2, 2, 3, 9}); math.Abs(rho-0.8333333333) > 1e-9 {
		t.Errorf("with ties %v", rho) // ranks 1 2.5 2.5 4 and 1.5 1.5 3 4: 3.75 / 4.5
	}
	for _, c := range [][2][]float64{
		{{1, 1}, {2, 3}},
		{{}, {}},
		{{0.1, 0.1, 0.1}, {1, 2, 3}},
	} {
		if rho := ranks.Spearman(c[0], c[1]); !math.IsNaN(rho) {
			t.Errorf("%v have a rank correlation, %v", c, rho)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 20).Draw(t, "n")
		x, y := rapid.Permutation(sequence(n)).Draw(t, "x"), rapid.Permutation(sequence(n)).Draw(t, "y")
		a, b, sum := make([]float64, n), make([]float64, n), 0.0
		for i := range a {
			a[i], b[i] = math.Exp(float64(x[i])), float64(y[i])*7
			sum += float64((x[i] - y[i]) * (x[i] - y[i]))
		}
		want := 1 - 6*sum/float64(n*(n*n-1))
		if rho := ranks.Spearman(a, b); math.IsNaN(rho) || math.Abs(rho-want) > 1e-9 {
			t.Fatalf("%v, want %v", rho, want)
		}
	})
}

// TestTies: with many equal values it is the correlation of their ranks, as gonum's stat computes it.
func TestTies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(t, "n")
		small := rapid.Map(rapid.IntRange(0, 4), func(i int) float64 { return float64(i) })
		a, b := rapid.SliceOfN(small, n, n).Draw(t, "a"), rapid.SliceOfN(small, n, n).Draw(t, "b")
		rho, want := ranks.Spearman(a, b), stat.Correlation(placed(a), placed(b), nil)
		if math.IsNaN(rho) != math.IsNaN(want) || math.Abs(rho-want) > 1e-9 {
			t.Fatalf("%v, gonum has %v", rho, want)
		}
	})
}

// placed counts the values below each, and half of those equal to it.
func placed(values []float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		for _, other := range values {
			if other < v {
				out[i]++
			} else if other == v {
				out[i] += 0.5
			}
		}
	}
	return out
}

func sequence(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}
