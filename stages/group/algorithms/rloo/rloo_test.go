package rloo_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/group/algorithms/algorithmtest"
	"github.com/rollmill/rollmill/stages/group/algorithms/rloo"
)

func TestRLOO(t *testing.T) {
	algorithmtest.Run(t, rloo.Estimator)
	algorithmtest.Vectors(t, rloo.Estimator)
}
