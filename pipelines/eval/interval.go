package eval

import (
	"math"
	"slices"

	"github.com/rollmill/rollmill/pipelines/look/paired"
)

// wilson returns the lower limit of the score interval of a share, c of n (E. B. Wilson,
// "Probable Inference, the Law of Succession, and Statistical Inference", Journal of the
// American Statistical Association 22, 1927, pages 209-212), computed from the product
// of both limits, so that it is exactly 0 for none of n. The upper is 1 minus that of n-c.
func wilson(n, c int, confidence float64) float64 {
	m, p, z := float64(n), float64(c)/float64(n), math.Sqrt2*math.Erfinv(confidence)
	return p * p / (p + z*z/(2*m) + z*math.Sqrt(p*(1-p)/m+z*z/(4*m*m)))
}

// estimate returns the mean of values and its Student interval, cut to a range; of a rate
// that is 0 or 1 in every example the Wilson interval, since its spread says too little. It
// returns nil if there are no values.
func estimate(values []float64, confidence, lowest, highest float64) *Estimate {
	if len(values) == 0 {
		return nil
	}
	e := &Estimate{Value: mean(values), Examples: len(values)}
	if n := float64(len(values)); n > 1 && highest == 1 && !slices.ContainsFunc(values, func(v float64) bool { return v != 0 && v != 1 }) {
		c := int(math.Round(e.Value * n))
		e.Low, e.High = new(wilson(len(values), c, confidence)), new(1-wilson(len(values), len(values)-c, confidence))
	} else if n > 1 {
		half := paired.StudentT(0.5+confidence/2, n-1) * std(values) / math.Sqrt(n)
		e.Low, e.High = new(max(lowest, e.Value-half)), new(min(highest, e.Value+half))
	}
	return e
}

// known returns the values that are not null.
func known(values []*float64) (out []float64) {
	for _, v := range values {
		if v != nil {
			out = append(out, *v)
		}
	}
	return out
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// std returns the standard deviation, with divisor n-1.
func std(values []float64) float64 {
	if slices.Min(values) == slices.Max(values) {
		return 0 // and not what rounding leaves
	}
	m, sum := mean(values), 0.0
	for _, v := range values {
		sum += (v - m) * (v - m)
	}
	return math.Sqrt(sum / float64(len(values)-1))
}
