package passk_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/group/estimators/estimatortest"
	"github.com/rollmill/rollmill/stages/group/estimators/passk"
)

func TestPassK(t *testing.T) {
	estimatortest.Run(t, passk.Kind)
	estimatortest.Vectors(t, passk.Kind)
}
