package estimators_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/group/estimators/estimatortest"
)

func TestGDPO(t *testing.T) {
	// Each reward of the sum may be that of other members.
	estimatortest.Run(t, estimators.GDPO, "none", "trl", "verl", "nemo-rl")
	estimatortest.Vectors(t, estimators.GDPO)
}
