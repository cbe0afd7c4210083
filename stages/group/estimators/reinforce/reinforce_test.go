package reinforce_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/group/estimators/estimatortest"
	"github.com/rollmill/rollmill/stages/group/estimators/reinforce"
)

func TestReinforce(t *testing.T) {
	estimatortest.Run(t, reinforce.Kind)
	estimatortest.Vectors(t, reinforce.Kind)
}
