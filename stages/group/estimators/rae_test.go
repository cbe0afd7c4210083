package estimators_test

import (
	"math"
	"testing"

	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/group/estimators/estimatortest"
)

func TestRAE(t *testing.T) {
	estimatortest.Run(t, estimators.RAE, "none", "prime-rl")
	estimatortest.Vectors(t, estimators.RAE)
	for _, decay := range []float64{-0.1, 1, math.NaN()} {
		if _, err := (&estimators.RAESettings{By: "metadata.role", Decay: decay}).Estimator(group.Setup{Compat: group.CompatNone}); err == nil {
			t.Errorf("decay %v is accepted", decay)
		}
	}
}
