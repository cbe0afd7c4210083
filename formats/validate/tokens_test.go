package validate

import (
	"math"
	"testing"
)

func TestFloored(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	for i, c := range []struct {
		logprobs []float32
		want     int
	}{{nil, -1}, {[]float32{-1, 0, -9998}, -1}, {[]float32{-1, -9999}, 1}, {[]float32{inf}, 0}, {[]float32{0, nan}, 1}, {[]float32{-1e30}, 0}} {
		if got := Floored(c.logprobs); got != c.want {
			t.Errorf("%d: %d, want %d", i, got, c.want)
		}
	}
}
