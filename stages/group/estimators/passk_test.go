package estimators_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/group/estimators/estimatortest"
)

func TestPassK(t *testing.T) {
	// It rewards the best member alone.
	estimatortest.Run(t, estimators.PassK, "none", "none/no-scale", "verl", "verl/no-scale")
	estimatortest.Vectors(t, estimators.PassK)
}
