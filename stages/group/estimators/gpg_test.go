package estimators_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/group/estimators/estimatortest"
)

func TestGPG(t *testing.T) {
	estimatortest.Run(t, estimators.GPG)
	estimatortest.Vectors(t, estimators.GPG)
}
