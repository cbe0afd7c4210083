package estimators_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/group/estimators/estimatortest"
)

func TestGRPOBatch(t *testing.T) {
	estimatortest.Run(t, estimators.GRPOBatch)
	estimatortest.Vectors(t, estimators.GRPOBatch)
}
