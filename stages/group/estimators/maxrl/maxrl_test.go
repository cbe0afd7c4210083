package maxrl_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/group/estimators/estimatortest"
	"github.com/rollmill/rollmill/stages/group/estimators/maxrl"
)

func TestMaxRL(t *testing.T) {
	estimatortest.Run(t, maxrl.Kind)
	estimatortest.Vectors(t, maxrl.Kind)
}
