package estimators_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/group/estimators/estimatortest"
)

func TestPassK(t *testing.T) {
	estimatortest.Run(t, estimators.PassK)
	estimatortest.Vectors(t, estimators.PassK)
}
