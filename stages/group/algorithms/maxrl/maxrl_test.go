package maxrl_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/group/algorithms/algorithmtest"
	"github.com/rollmill/rollmill/stages/group/algorithms/maxrl"
)

func TestMaxRL(t *testing.T) {
	algorithmtest.Run(t, maxrl.Estimator)
	algorithmtest.Vectors(t, maxrl.Estimator)
}
