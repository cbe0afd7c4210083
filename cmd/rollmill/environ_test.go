package main

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/cmd/internal/terminal"
)

// withEnvironment runs a command in an environment of its own.
func withEnvironment(t *testing.T, env map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	streams := terminal.Streams{In: strings.NewReader(""), Out: &out, Err: &err, Environ: slices.Collect(maps.Keys(env)),
		Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
	code = app().Run(t.Context(), append([]string{"rollmill"}, args...), streams)
	return code, out.String(), err.String()
}

func TestMistypedVariablesAreErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		code int
		says string
	}{
		{"ROLLMILL_ROLLOUT_GENERATION", 2, "did you mean ROLLMILL_ROLLOUT_GENERATIONS?"},
		{"ROLLMILL_ROLOUT_GENERATIONS", 2, "did you mean ROLLMILL_ROLLOUT_GENERATIONS?"},
		{"ROLLMILL_ROT", 2, "did you mean ROLLMILL_ROOT?"},
		{"ROLLMILL_SUBMIT_LEARNINGRATE", 2, "did you mean ROLLMILL_SUBMIT_LEARNING_RATE?"},
		{"ROLLMILL_GROUP_SOMETHING_ELSE", 2, "there is no variable ROLLMILL_GROUP_SOMETHING_ELSE"},
		{"ROLLMILL_JUGDE_API_KEY", 2, "did you mean ROLLMILL_JUDGE_API_KEY?"},
		{"ROLLMILL_DATABASE_PASSWORD", 4, "warning: rollmill does not use the environment variable ROLLMILL_DATABASE_PASSWORD"},
		{"ROLLMILL_ROLLOUT_GENERATIONS", 4, ""},
		{"ROLLMILL_VALIDATION_GENERATIONS", 4, ""},
		{"ROLLMILL_RUN", 4, ""},
		{"ROLLMILL_TRAJECTORY_ID", 4, ""},
		{"ROLLMILL_SANDBOX_URL", 4, ""},
		{"ROLLMILL_LOG_LEVEL", 4, ""},
		{"MY_ROLLMILL_ROT", 4, ""},
	} {
		value := "info"
		code, stdout, stderr := withEnvironment(t, map[string]string{c.name: value}, "show", "--in", "mem://no-such-place/x")
		if code != c.code || !strings.Contains(stderr, c.says) || stdout != "" {
			t.Errorf("%s: exit code %d, %q, want %d, %q", c.name, code, stderr, c.code, c.says)
		}
		if c.says == "" && strings.Contains(stderr, c.name) {
			t.Errorf("%s: %q", c.name, stderr)
		}
	}
	if code, _, stderr := withEnvironment(t, map[string]string{"ROLLMILL_ROT": ""}, "show", "--in", "mem://no-such-place/x"); code != 4 {
		t.Errorf("an empty variable: exit code %d, %s", code, stderr)
	}
}
