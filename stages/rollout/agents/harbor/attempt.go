package harbor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/workspaces"
	"github.com/rollmill/rollmill/formats/foreign/harbor"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/internal/containers/verifier"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/storage/fault"
)

// box is the container of one attempt.
type box struct {
	*verifier.Box
	agent *agent
}

// List reads the task folders at places of this machine, separated by commas, and writes
// their examples as JSON lines. The agent attempts no other task.
func (a *agent) List(_ context.Context, places string, to io.Writer, warn func(string)) error {
	lines, ignored := json.NewEncoder(to), map[string]int{}
	wants := verifier.Wanted{}
	for place := range strings.SplitSeq(places, ",") {
		folders, err := harbor.Find(place)
		if err != nil {
			return err
		}
		for _, folder := range folders {
			t, err := harbor.Read(folder)
			if err != nil {
				return err
			}
			a.tasks.Store(t.Digest, t)
			wants.Add(a.Variables, t, "environment", "agent", "verifier")
			for _, key := range t.Ignored {
				ignored[key]++
			}
			if err := lines.Encode(t.Fields()); err != nil {
				return fault.Invalid(folder, "", err, "its metadata is not JSON")
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(ignored)) {
		warn(fmt.Sprintf("%s in task.toml has no effect (tasks: %d)", key, ignored[key]))
	}
	return wants.Err(warn)
}

func (a *agent) Attempt(ctx context.Context, at agents.Attempt) (agents.Result, error) {
	return a.in(ctx, at, func(b *box) (agents.Result, error) { return b.work(ctx, at) })
}

// Solve lets a task's own solution work in place of an agent, without a model.
func (a *agent) Solve(ctx context.Context, e formats.Example) (agents.Result, error) {
	return a.in(ctx, agents.Attempt{Example: e, TrajectoryID: "solution"}, func(b *box) (agents.Result, error) {
		return agents.Result{}, b.solution(ctx)
	})
}

// in starts a container, has somebody work in it, and verifies the work.
func (a *agent) in(ctx context.Context, at agents.Attempt, work func(*box) (agents.Result, error)) (result agents.Result, err error) {
	task, err := a.taskOf(at.Example)
	if err != nil {
		return result, &agents.Failure{Class: outcomes.FailExample, Err: err}
	}
	log, err := agents.OpenLog(ctx, a.config.Logs, at.TrajectoryID)
	if err != nil {
		return result, err
	}
	defer log.Close()
	image, err := a.TaskImage(ctx, task)
	if err != nil {
		return result, failed(ctx, outcomes.FailImage, err)
	}
	release, err := a.Reserve(ctx, task.Environment.MemoryMB)
	if err != nil {
		return result, err
	}
	defer release()
	started, err := a.Tasks.Start(ctx, task, image, at.TrajectoryID, log)
	defer started.Remove(ctx)
	if err != nil {
		return result, failed(ctx, outcomes.FailStart, err)
	}
	b := &box{started, a}
	if at.Keep != nil {
		b.List(ctx)
	}
	if result, err = work(b); err == nil {
		result, err = b.verify(ctx, result, at.Keep)
	}
	if ctx.Err() == nil {
		result.Artifacts = b.Artifacts(ctx)
	}
	return result, err
}

// verify keeps the workspace, runs the tests and adds their rewards to what the harness left. A workspace that was
// kept is named also when the tests fail: others may judge it.
func (b *box) verify(ctx context.Context, result agents.Result, keep verifier.Keeper) (agents.Result, error) {
	facts := map[string]string{"task_digest": b.Task.Digest}
	v, err := b.Verify(ctx, func(left []string) (err error) {
		if keep != nil {
			facts[workspaces.KeyName], err = b.Pack(ctx, left, keep)
		}
		return err
	})
	if err != nil {
		result, err = agents.Result{}, failed(ctx, outcomes.FailVerifier, fmt.Errorf("the verifier: %w", err))
	}
	result.Reward, result.Rewards = v.Reward, v.Rewards
	if err == nil || facts[workspaces.KeyName] != "" {
		result.Metadata, _ = json.Marshal(facts) // of texts
	}
	return result, err
}

// failed gives an error its class, unless the attempt was ended.
func failed(ctx context.Context, class string, err error) error {
	var f *agents.Failure
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &f):
		return err
	}
	return &agents.Failure{Class: class, Err: err}
}

// taskOf returns the listed task of an example.
func (a *agent) taskOf(e formats.Example) (harbor.Task, error) {
	var f harbor.Fields
	err := json.Unmarshal(e.Fields, &f)
	task, ok := a.tasks.Load(f.Digest)
	if !ok {
		return harbor.Task{}, errors.Join(err, fmt.Errorf("example %q is no Harbor task: name them with --examples harbor:DIR", e.ID))
	}
	return task.(harbor.Task), nil
}
