package harbor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/foreign/harbor"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/storage/fault"
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
func (s *Settings) taskEnv(ctx context.Context, set agents.Setup) map[string]string {
	out := map[string]string{}
	for _, variable := range s.TaskEnv {
		if name, value, ok := set.Variable(ctx, variable); ok {
			out[name] = value
		}
	}
	return out
}

func joined(env map[string]string) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		out = append(out, name+"="+env[name])
	}
	return out
}

// resolve returns a phase's variables. ${NAME} is a variable that --task-env lists; so is
// ${NAME:-DEFAULT}, and DEFAULT where it is not listed.
func (a *agent) resolve(ctx context.Context, t harbor.Task, key string) ([]string, error) {
	needed := wanted{}
	needed.add(a, t, key)
	if err := needed.err(nil); err != nil {
		return nil, err
	}
	var settings agents.ProgramSettings
	at := slices.IndexFunc(t.Phases(), func(p harbor.NamedPhase) bool { return p.Key == key })
	for name, value := range t.Phases()[at].Env {
		if from, otherwise, _, is := harbor.Template(value); is {
			found, ok := a.taskEnv[from]
			if value = otherwise; ok {
				value = found
			}
		}
		settings.Env = append(settings.Env, name+"="+value)
	}
	slices.Sort(settings.Env)
	return settings.Environ(ctx, agents.Setup{})
}

// wanted are the names of tasks that ask for variables that --task-env does not give them,
// by variable and by whether it has a default.
type wanted map[variable][]string

type variable struct {
	name string
	has  bool
}

// add adds what phases of a task ask for.
func (q wanted) add(a *agent, t harbor.Task, keys ...string) {
	for _, phase := range t.Phases() {
		for _, value := range phase.Env {
			name, _, has, is := harbor.Template(value)
			if _, listed := a.taskEnv[name]; is && !listed && slices.Contains(keys, phase.Key) {
				q[variable{name, has}] = append(q[variable{name, has}], t.Name)
			}
		}
	}
}

// err names all variables that tasks cannot do without, and warns of the others.
func (q wanted) err(warn func(string)) error {
	var names, without []string
	for _, key := range slices.SortedFunc(maps.Keys(q), func(a, b variable) int { return strings.Compare(a.name, b.name) }) {
		tasks := q[key]
		if key.has && warn != nil {
			warn(fmt.Sprintf("tasks ask for the variable %s, which --task-env does not list: they get their own default (tasks: %d)",
				key.name, len(distinct(tasks))))
		} else if !key.has {
			names, without = append(names, key.name), append(without, tasks...)
		}
	}
	if names, without = distinct(names), distinct(without); len(names) == 0 {
		return nil
	}
	return fault.Invalid(strings.Join(without[:min(len(without), 5)], ", "), "if you trust these tasks with the values: --task-env "+
		strings.Join(names, " --task-env "), errors.New("a task reads no other variable of this machine"),
		"tasks ask for variables that --task-env does not list, or that are not set: %s (tasks: %d)", strings.Join(names, ", "), len(without))
}

func distinct(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }
