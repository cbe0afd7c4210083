package drgrpo_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/group/algorithms/algorithmtest"
	"github.com/rollmill/rollmill/stages/group/algorithms/drgrpo"
)

func TestDrGRPO(t *testing.T) {
	algorithmtest.Run(t, drgrpo.Estimator)
	algorithmtest.Vectors(t, drgrpo.Estimator)
}
