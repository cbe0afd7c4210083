package verifier

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/foreign/harbor"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/storage/fault"
)

// Variables are the variables of this machine that tasks may read.
type Variables map[string]string

// ReadVariables reads NAME=VALUE, or NAME alone, as --task-env lists them. One that is not set
// is as one that is not listed.
func ReadVariables(ctx context.Context, list []string, env func(name string) (string, bool)) Variables {
	v := Variables{}
	for _, variable := range list {
		if name, value, ok := stages.Variable(ctx, variable, env); ok {
			v[name] = value
		}
	}
	return v
}

// Params returns what an identity holds of them.
func (v Variables) Params() map[string]string {
	var list []string
	for name, value := range v {
		list = append(list, name+"="+value)
	}
	return stages.EnvParams(list)
}

// Resolve returns the variables of a phase of a task. ${NAME} is a variable that --task-env
// lists; so is ${NAME:-DEFAULT}, and DEFAULT where it is not listed. A value that looks like
// a secret is added to those of ctx.
func (v Variables) Resolve(ctx context.Context, t harbor.Task, key string) (env []string, err error) {
	needed := Wanted{}
	needed.Add(v, t, key)
	if err := needed.Err(nil); err != nil {
		return nil, err
	}
	at := slices.IndexFunc(t.Phases(), func(p harbor.NamedPhase) bool { return p.Key == key })
	for name, value := range t.Phases()[at].Env {
		if from, otherwise, _, is := harbor.Template(value); is {
			found, ok := v[from]
			if value = otherwise; ok {
				value = found
			}
		}
		if secret.Looks(name) || secret.Guess(value) {
			secret.From(ctx).Add(name, value)
		}
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env, nil
}

// Wanted are the names of tasks that ask for variables that --task-env does not give them,
// by variable and by whether it has a default.
type Wanted map[variable][]string

type variable struct {
	name string
	has  bool
}

// Add adds what phases of a task ask for.
func (q Wanted) Add(v Variables, t harbor.Task, keys ...string) {
	for _, phase := range t.Phases() {
		for _, value := range phase.Env {
			name, _, has, is := harbor.Template(value)
			if _, listed := v[name]; is && !listed && slices.Contains(keys, phase.Key) {
				q[variable{name, has}] = append(q[variable{name, has}], t.Name)
			}
		}
	}
}

// Err names all variables that tasks cannot do without, and warns of the others.
func (q Wanted) Err(warn func(string)) error {
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
		"tasks ask for variables that --task-env does not list, or that are not set: %s (tasks: %d)",
		strings.Join(names, ", "), len(without))
}

func distinct(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }
