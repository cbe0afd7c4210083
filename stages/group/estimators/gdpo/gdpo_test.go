package gdpo_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/group/estimators/estimatortest"
	"github.com/rollmill/rollmill/stages/group/estimators/gdpo"
)

func TestGDPO(t *testing.T) {
	estimatortest.Run(t, gdpo.Kind)
	estimatortest.Vectors(t, gdpo.Kind)
}
