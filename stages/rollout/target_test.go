package rollout_test

import (
	"path/filepath"
	"testing"

	"github.com/rollmill/rollmill/formats/outcomes"
)

// TestTargetsDecideTheRows: they are part of the identity, and a trajectory
// without a call to train on has failed.
func TestTargetsDecideTheRows(t *testing.T) {
	e := newEngine(t, &engine{})
	o := options(e, filepath.Join(t.TempDir(), "out"), 2)
	maxRate := 1.0
	o.MaxFailureRate = &maxRate
	plain := run(t, o)
	o.TargetModel = "policy"
	if again := run(t, o); !again.UpToDate {
		t.Error("naming the model as the target is another dataset")
	}
	o.Functions = []string{"act"}
	o.Out.URI = filepath.Join(t.TempDir(), "out")
	other := run(t, o)
	if other.Identity == plain.Identity {
		t.Error("target functions are no part of the identity")
	}
	for _, row := range rows(t, o.Out.URI) {
		if row.Status != outcomes.StatusFailed || row.FailureClass != outcomes.FailNoCalls || row.SampledTokens != 0 || len(row.Messages) != 2 ||
			row.Calls[0].Target {
			t.Errorf("%+v", row)
		}
	}
}
