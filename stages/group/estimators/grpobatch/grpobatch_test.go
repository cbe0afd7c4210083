package grpobatch_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/group/estimators/estimatortest"
	"github.com/rollmill/rollmill/stages/group/estimators/grpobatch"
)

func TestGRPOBatch(t *testing.T) {
	estimatortest.Run(t, grpobatch.Kind)
	estimatortest.Vectors(t, grpobatch.Kind)
}
