package systemtest

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs the scripts under testdata/script.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "../../../testdata/script",
		RequireExplicitExec: true,
		UpdateScripts:       *update,
		Setup: func(e *testscript.Env) error {
			top, err := filepath.Abs("../../..")
			e.Setenv("MODULE", filepath.Join(top, "cmd/python/src")) // for PYTHONPATH
			e.Setenv("TESTDATA", filepath.Join(top, "testdata"))
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "follow": follow, "sandbox": serveSandbox, "faults": setFaults, "truncate": truncate, "finetuning": serveFineTuning,
			"customizer": serveCustomizer, "recital": serveRecital, "weighing": serveWeighing,
		},
	})
}
