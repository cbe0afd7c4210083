package grpo_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/group/estimators/estimatortest"
	"github.com/rollmill/rollmill/stages/group/estimators/grpo"
)

func TestGRPO(t *testing.T) {
	estimatortest.Run(t, grpo.Kind)
	estimatortest.Vectors(t, grpo.Kind)
}
