package reinforce_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/group/algorithms/algorithmtest"
	"github.com/rollmill/rollmill/stages/group/algorithms/reinforce"
)

func TestReinforce(t *testing.T) {
	algorithmtest.Run(t, reinforce.Estimator)
	algorithmtest.Vectors(t, reinforce.Estimator)
}
