package gdpo_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/group/algorithms/algorithmtest"
	"github.com/rollmill/rollmill/stages/group/algorithms/gdpo"
)

func TestGDPO(t *testing.T) {
	algorithmtest.Run(t, gdpo.Estimator)
	algorithmtest.Vectors(t, gdpo.Estimator)
}
