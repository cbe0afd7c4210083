package estimators_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/group/estimators/estimatortest"
)

func TestReinforce(t *testing.T) {
	estimatortest.Run(t, estimators.Reinforce)
	estimatortest.Vectors(t, estimators.Reinforce)
}
