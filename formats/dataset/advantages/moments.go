package advantages

import (
	"math"
	"math/big"
)

// moments sums numbers exactly.
type moments struct {
	n        int64
	sum      big.Float
	min, max float64
}

func (m *moments) add(x float64) {
	if m.n == 0 {
		m.sum.SetPrec(2200) // holds any sum of 2^50 doubles
		m.min, m.max = x, x
	}
	m.n++
	m.min, m.max = min(m.min, x), max(m.max, x)
	m.sum.Add(&m.sum, new(big.Float).SetFloat64(x))
}

func (m *moments) mean() float64 {
	mean, _ := new(big.Float).Quo(&m.sum, new(big.Float).SetPrec(64).SetInt64(m.n)).Float64()
	return mean
}

// unit returns a power of two to count in so that no square overflows.
func (m *moments) unit() float64 {
	if max(math.Abs(m.min), math.Abs(m.max)) < 1e150 {
		return 1
	}
	return math.Ldexp(1, 600)
}
