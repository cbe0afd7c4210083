package harbor

import (
	"context"
	"maps"
	"slices"

	"github.com/rollmill/rollmill/stages/internal/containers/verifier"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/rollout/agents"
)

// DeclareTaskEnv declares which variables of this machine tasks may read.
func DeclareTaskEnv(d *plugin.Declarer, names *[]string) {
	d.Strings(names, "task-env", "let Harbor tasks read this `NAME` of the environment, which their task.toml asks for as ${NAME}; "+
		"NAME=VALUE gives them another value")
}

// DeclareKeepProcesses declares whether processes live on.
func DeclareKeepProcesses(d *plugin.Declarer, keep *bool) {
	d.Bool(keep, "keep-processes", "do not end what the agent left running before a Harbor task's tests run: "+
		"for tasks that ask for a running program, whose rewards it can forge")
}

// taskEnv returns the variables that tasks may read. One that is not set is as one that
// is not listed.
func (s *Settings) taskEnv(ctx context.Context, set agents.Setup) verifier.Variables {
	out := verifier.Variables{}
	for _, variable := range s.TaskEnv {
		if name, value, ok := set.Variable(ctx, variable); ok {
			out[name] = value
		}
	}
	return out
}

func joined(env verifier.Variables) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		out = append(out, name+"="+env[name])
	}
	return out
}
