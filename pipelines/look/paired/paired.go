// Package paired has the statistics of two policies' results on the same examples, a
// difference for each example. The same values under the same ids and seed give the same
// results, in any order.
package paired

import (
	"cmp"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// Resamples is how often the examples are drawn again, and their signs.
const Resamples = 10000

// Sample is the difference of each example. Two samples of the same ids and seed are
// drawn alike.
type Sample struct {
	IDs         []string
	Differences []float64 // finite
	Seed        uint64
	Draws       int // 0: Resamples
}

// source returns the random numbers of an example for a purpose.
func (s Sample) source(example int, purpose byte) *rand.PCG {
	h := fnv.New64a()
	h.Write([]byte(s.IDs[example]))
	return rand.NewPCG(s.Seed, h.Sum64()^uint64(purpose)<<56)
}

func (s Sample) draws() int { return cmp.Or(s.Draws, Resamples) }

// poisson has the probabilities that a draw from Poisson's distribution of mean 1 is at most
// 0, 1, 2, ..., in units of 2^-64.
var poisson = func() (out []uint64) {
	sum, next := 0.0, math.Exp(-1)
	for k := 1.0; sum+next < 1-1e-15; k++ {
		sum += next
		next /= k
		out = append(out, uint64(math.Ldexp(sum, 64)))
	}
	return out
}()

// Band returns the limits of the mean difference at a confidence: the percentiles of the means
// of resamples, in which each example counts as often as Poisson's distribution says (Chamandy,
// Muralidharan, Najmi and Naidu, "Estimating Uncertainty for Massive Data Streams", 2012), at
// levels that are widened for few examples (Hesterberg, "What Teachers Should Know About the
// Bootstrap", The American Statistician 69, 2015, section 5.3). NaN for fewer than two examples.
func (s Sample) Band(confidence float64) (low, high float64) {
	n := float64(len(s.Differences))
	if n < 2 {
		return math.NaN(), math.NaN()
	}
	sums, weights := make([]float64, s.draws()), make([]float64, s.draws())
	for i, d := range s.Differences {
		random := s.source(i, 1)
		for b := range sums {
			count, r := 0.0, random.Uint64()
			for k := 0; k < len(poisson) && r >= poisson[k]; k++ {
				count++
			}
			sums[b], weights[b] = sums[b]+count*d, weights[b]+count
		}
	}
	means := sums[:0]
	for b, w := range weights {
		if w > 0 {
			means = append(means, sums[b]/w)
		}
	}
	slices.Sort(means)
	t := StudentT(0.5+confidence/2, n-1) * math.Sqrt(n/(n-1))
	tail := math.Erfc(t/math.Sqrt2) / 2
	at := func(share float64) float64 { return means[min(int(share*float64(len(means))), len(means)-1)] }
	return at(tail), at(1 - tail)
}

// P is the two-sided p of a permutation test: how often the sum of the differences is as far
// from 0 when each has its sign by chance. All signs are tried if that takes no more than
// Resamples. It is 1 if all differences are 0.
func (s Sample) P() float64 {
	var at []int
	sum, rounding := 0.0, 0.0
	for i, d := range s.Differences {
		if sum, rounding = sum+d, rounding+math.Abs(d); d != 0 {
			at = append(at, i)
		}
	}
	least := math.Abs(sum) - 1e-12*rounding
	sums := make([]float64, s.draws())
	all := 1<<min(len(at), 30) <= len(sums)
	if all {
		sums = sums[:1<<len(at)]
	}
	for k, i := range at {
		random, signs := s.source(i, 2), uint64(0)
		for b := range sums {
			if all {
				signs = uint64(b >> k)
			} else if b%64 == 0 {
				signs = random.Uint64()
			}
			sums[b] += s.Differences[i] * float64(1-int(signs&1)*2)
			signs >>= 1
		}
	}
	far := 0
	for _, sum := range sums {
		if math.Abs(sum) >= least {
			far++
		}
	}
	if all {
		return float64(far) / float64(len(sums))
	}
	return float64(far+1) / float64(len(sums)+1)
}

// McNemar is the two-sided p of the exact test of McNemar, of examples that only one of two
// policies solves, b of them the first and c the second: the binomial test of min(b, c) of b+c
// (McNemar, "Note on the Sampling Error of the Difference Between Correlated Proportions", Psychometrika 12, 1947).
func McNemar(b, c int) float64 {
	n, k := float64(b+c), float64(min(b, c))
	if b == c {
		return 1
	}
	return min(1, 2*mathext.RegIncBeta(n-k, k+1, 0.5))
}

// Holm corrects p values for their number (Holm, "A Simple Sequentially Rejective Multiple Test
// Procedure", Scandinavian Journal of Statistics 6, 1979).
func Holm(ps []float64) []float64 {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(ps[i], ps[j]) })
	out, least := make([]float64, len(ps)), 0.0
	for rank, i := range order {
		least = max(least, min(1, ps[i]*float64(len(ps)-rank)))
		out[i] = least
	}
	return out
}

// StudentT returns the t that a share of Student's distribution lies below, for a
// share above a half. It equals StudentsT.Quantile of gonum's stat/distuv, whose
// package would link 2 MB of linear algebra.
func StudentT(share, freedom float64) float64 {
	y := mathext.InvRegIncBeta(freedom/2, 0.5, 2*(1-share))
	return math.Sqrt(freedom * (1 - y) / y)
}
