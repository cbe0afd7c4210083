package estimators_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/group/estimators/estimatortest"
)

func TestRLOO(t *testing.T) {
	estimatortest.Run(t, estimators.RLOO)
	estimatortest.Vectors(t, estimators.RLOO)
}
