package hub_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/backends/backendtest"
	"github.com/rollmill/rollmill/stages/backends/hubtest"
)

// TestARefusalAfterTheCommitFindsIt: a proxy may refuse what the store did.
func TestARefusalAfterTheCommitFindsIt(t *testing.T) {
	backendtest.RefusedAfter(t, func(t *testing.T, code int) backendtest.Subject {
		tr, s := start(t, hubtest.Faults{AppliedThen: code})
		return backendtest.Subject{Trainer: tr, Jobs: func() int { return len(s.Commits(id)) }}
	})
}
