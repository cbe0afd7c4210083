package grpobatch_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/group/algorithms/algorithmtest"
	"github.com/rollmill/rollmill/stages/group/algorithms/grpobatch"
)

func TestGRPOBatch(t *testing.T) {
	algorithmtest.Run(t, grpobatch.Estimator)
	algorithmtest.Vectors(t, grpobatch.Estimator)
}
