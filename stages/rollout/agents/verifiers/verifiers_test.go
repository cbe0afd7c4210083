package verifiers

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/rollout/agents/agenttest"
)

// open hides an agent's Close: all tests of the suite share one process.
type open struct{ agents.Agent }

// TestConforms runs the suite with a real environment, which is imported once.
func TestConforms(t *testing.T) {
	a := made(t)
	var lines strings.Builder
	if err := a.List(t.Context(), "adds:1", &lines, nil); err != nil {
		t.Fatal(err)
	}
	agenttest.RunOn(t, Kind, func(*testing.T) agents.Agent { return open{a} }, func(i int) formats.Example {
		var fields map[string]any
		if err := json.Unmarshal([]byte(lines.String()), &fields); err != nil {
			t.Fatal(err)
		}
		fields["id"] = fmt.Sprint("ex-", i)
		row, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		return formats.Example{ID: fmt.Sprint("ex-", i), Question: "What is 0 + 0?", Fields: row, Row: i}
	})
	if err := a.List(t.Context(), "nothing", &lines, nil); err == nil || !strings.Contains(err.Error(), "there is no environment nothing") {
		t.Error(err)
	}
}

// made makes an agent whose Python has verifiers.
func made(t *testing.T) *agent {
	t.Helper()
	python, _ := filepath.Abs("../../../../.venv-environments-0.3/bin/python")
	if _, err := os.Stat(python); err != nil {
		t.Skipf(".ci/install environments-0.3 brings it: %v", err)
	}
	source, _ := filepath.Abs("../../../../cmd/python/src")
	files, _ := filepath.Abs("../../../../testdata/verifiers")
	t.Setenv("PYTHONPATH", source+string(os.PathListSeparator)+files)
	made, err := (&Settings{Python: python}).Agent(t.Context(), agents.Setup{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { made.Close() })
	return made.(*agent)
}
