package estimators_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/group/estimators/estimatortest"
)

func TestGRPO(t *testing.T) {
	// NeMo-RL divides each member by the deviation of the others.
	estimatortest.Run(t, estimators.GRPO, "nemo-rl")
	estimatortest.Vectors(t, estimators.GRPO)
}
