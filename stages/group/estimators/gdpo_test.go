package estimators_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/group/estimators/estimatortest"
)

func TestGDPO(t *testing.T) {
	estimatortest.Run(t, estimators.GDPO)
	estimatortest.Vectors(t, estimators.GDPO)
}
