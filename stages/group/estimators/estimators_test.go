package estimators_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/plugin/plugintest"
)

func TestEveryEstimatorConforms(t *testing.T) {
	plugintest.Tested(t, "estimators.go", len(estimators.All.Names()), `estimatortest\.Run\(t, estimators\.%s\b`)
}
