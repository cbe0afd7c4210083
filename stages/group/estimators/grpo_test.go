package estimators_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/group/estimators/estimatortest"
)

func TestGRPO(t *testing.T) {
	estimatortest.Run(t, estimators.GRPO)
	estimatortest.Vectors(t, estimators.GRPO)
}
