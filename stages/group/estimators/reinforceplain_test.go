package estimators_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/group/estimators/estimatortest"
)

func TestReinforcePlain(t *testing.T) {
	// Only the whitening over the batch subtracts a mean.
	estimatortest.Run(t, estimators.ReinforcePlain, "none", "verl", "openrlhf", "slime", "nemo-rl")
	estimatortest.Vectors(t, estimators.ReinforcePlain)
}
