package estimators_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/group/estimators/estimatortest"
)

func TestDrGRPO(t *testing.T) {
	estimatortest.Run(t, estimators.DrGRPO)
	estimatortest.Vectors(t, estimators.DrGRPO)
}
