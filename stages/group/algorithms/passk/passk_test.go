package passk_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/group/algorithms/algorithmtest"
	"github.com/rollmill/rollmill/stages/group/algorithms/passk"
)

func TestPassK(t *testing.T) {
	algorithmtest.Run(t, passk.Estimator)
	algorithmtest.Vectors(t, passk.Estimator)
}
