package drgrpo_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/group/estimators/drgrpo"
	"github.com/rollmill/rollmill/stages/group/estimators/estimatortest"
)

func TestDrGRPO(t *testing.T) {
	estimatortest.Run(t, drgrpo.Kind)
	estimatortest.Vectors(t, drgrpo.Kind)
}
