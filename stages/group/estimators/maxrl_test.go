package estimators_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/group/estimators/estimatortest"
)

func TestMaxRL(t *testing.T) {
	estimatortest.Run(t, estimators.MaxRL)
	estimatortest.Vectors(t, estimators.MaxRL)
}
