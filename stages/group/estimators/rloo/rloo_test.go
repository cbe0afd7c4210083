package rloo_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/group/estimators/estimatortest"
	"github.com/rollmill/rollmill/stages/group/estimators/rloo"
)

func TestRLOO(t *testing.T) {
	estimatortest.Run(t, rloo.Kind)
	estimatortest.Vectors(t, rloo.Kind)
}
