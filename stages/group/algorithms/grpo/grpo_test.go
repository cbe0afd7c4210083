package grpo_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/group/algorithms/algorithmtest"
	"github.com/rollmill/rollmill/stages/group/algorithms/grpo"
)

func TestGRPO(t *testing.T) {
	algorithmtest.Run(t, grpo.Estimator)
	algorithmtest.Vectors(t, grpo.Estimator)
}
