package clusters

import (
	"math"
	"testing"
)

// TestStandardErrorIsClustered compares with the formula, and for groups of one with
// the usual standard error.
func TestStandardErrorIsClustered(t *testing.T) {
	err := func(groups ...[]float64) *float64 {
		var k Clusters
		for _, g := range groups {
			for _, v := range g {
				k.Add(v)
			}
			k.End()
		}
		return k.Err()
	}
	near := func(got *float64, want float64) {
		t.Helper()
		if got == nil || math.Abs(*got-want) > 1e-12 {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	near(err([]float64{1e6 + 1}, []float64{1e6 + 2}, []float64{1e6 + 3}, []float64{1e6 + 4}), math.Sqrt(5.0/3/4))
	near(err([]float64{1, 1}, []float64{0, 0}), math.Sqrt(2*(1+1))/4) // G/(G-1) = 2, each group deviates by 1
	near(err([]float64{0, 1}, []float64{1, 0}), 0)
	if err([]float64{1, 0, 1}) != nil {
		t.Error("one group has a standard error")
	}
}
