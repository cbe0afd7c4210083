package paired

import (
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

func TestStudentEqualsGonum(t *testing.T) {
	for _, share := range []float64{0.75, 0.9, 0.95, 0.975, 0.995} {
		for _, freedom := range []float64{1, 2, 7, 30, 199, 1e6} {
			want := distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile(share)
			if got := StudentT(share, freedom); got != want {
				t.Errorf("share %v, %v degrees of freedom: %v instead of %v", share, freedom, got, want)
			}
		}
	}
}
