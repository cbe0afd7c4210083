package harbor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/harbor"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/internal/process"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/storage/fault"
)

const (
	removeTime   = time.Minute // for the runtime to remove a container
	maxProcesses = 2048        // of a container
	relayPath    = "/run/rollmill/relay"
	socketPath   = "/run/rollmill/" + socketName

	instructionPath = "/run/rollmill/instruction.md"
)

// box is the container of one attempt.
type box struct {
	*agent
	task harbor.Task
	name string
	dir  string // of this attempt, among the temporary files
	log  io.Writer

	before  processes    // that ran before the agent did
	printed process.Head // by the verifier
}

// logs are the folders below /logs, the first to be kept first.
var logs = []string{"verifier", "agent", "artifacts"}

// List reads the task folders at places of this machine, separated by commas, and writes
// their examples as JSON lines. The agent attempts no other task.
func (a *agent) List(_ context.Context, places string, to io.Writer, warn func(string)) error {
	lines, ignored := json.NewEncoder(to), map[string]int{}
	wants := wanted{}
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
			wants.add(a, t, "environment", "agent", "verifier")
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
	return wants.err(warn)
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
	image, err := a.images.get(ctx, task)
	if err != nil {
		return result, failed(ctx, outcomes.FailImage, err)
	}
	weight := min(max(task.Environment.MemoryMB, 1), a.room)
	if err := a.memory.Acquire(ctx, weight); err != nil {
		return result, context.Cause(ctx)
	}
	defer a.memory.Release(weight)
	b := &box{agent: a, task: task, log: log, printed: process.Head{Limit: harbor.MaxArtifactBytes}}
	defer b.remove(ctx)
	if err := b.start(ctx, image, at); err != nil {
		return result, failed(ctx, outcomes.FailStart, err)
	}
	if b.before, err = b.running(ctx); err != nil {
		return result, failed(ctx, outcomes.FailStart, err)
	}
	if result, err = work(b); err == nil {
		result, err = b.verify(ctx, result)
	}
	if ctx.Err() == nil {
		result.Artifacts = b.keep(ctx)
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

// start starts the container.
func (b *box) start(ctx context.Context, image string, at agents.Attempt) (err error) {
	if b.dir, err = os.MkdirTemp(b.folder.Path, ""); err != nil {
		return err
	}
	b.name = filepath.Base(b.folder.Path) + "-" + filepath.Base(b.dir)
	// No container may write where this process does: a link there would lead it elsewhere.
	mounts := []Mount{{From: filepath.Join(b.dir, "run"), To: filepath.Dir(relayPath), ReadOnly: true}}
	for _, folder := range logs {
		mounts = append(mounts, Mount{From: filepath.Join(b.dir, folder), To: "/logs/" + folder})
	}
	for _, m := range mounts {
		if err := os.Mkdir(m.From, 0o777); err != nil {
			return err
		}
		if err := os.Chmod(m.From, 0o777); err != nil { // whatever the mask: the container has users of its own
			return err
		}
	}
	file := filepath.Join(mounts[0].From, filepath.Base(instructionPath))
	if err := errors.Join(os.WriteFile(file, []byte(b.task.Instruction), 0o644), os.Chmod(file, 0o644)); err != nil {
		return err
	}
	if b.relay != "" {
		if err := os.WriteFile(filepath.Join(mounts[0].From, filepath.Base(relayPath)), nil, 0o755); err != nil {
			return err
		}
		mounts = append(mounts, Mount{From: b.relay, To: relayPath, ReadOnly: true})
	}
	if _, ok := b.runtime.(*bwrap); ok && b.keeps() {
		return errors.New("the task keeps processes, which runtime bwrap ends with the program that left them: use podman or docker")
	}
	e := b.task.Environment
	env, err := b.resolve(ctx, b.task, "environment")
	if err != nil {
		return err
	}
	if err := b.starts.Acquire(ctx, 1); err != nil {
		return err
	}
	defer b.starts.Release(1)
	return b.runtime.Start(ctx, Container{Name: b.name, Image: image, Dir: b.dir, Mounts: mounts, Env: env, Workdir: e.Workdir,
		Labels: map[string]string{ownerLabel: ownerOf(b.host, b.folder.Path), "rollmill.trajectory": at.TrajectoryID},
		CPUs:   e.CPUs, MemoryMB: e.MemoryMB, FileMB: e.StorageMB, Processes: maxProcesses, NoNetwork: e.NoNetwork, Network: e.Network})
}

// remove removes the container and the attempt's files, also when ctx has ended. What
// it cannot remove, the next process sweeps.
func (b *box) remove(ctx context.Context) {
	if b.name == "" {
		return
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
	defer stop()
	err := b.runtime.Remove(ctx, b.name)
	if err == nil {
		err = os.RemoveAll(b.dir) // of users of the container
	}
	if err != nil {
		b.warn(fmt.Errorf("removing container %s: %w", b.name, err))
	}
}

func (b *box) warn(err error) { fmt.Fprintln(b.log, "rollmill:", err) }

// exec runs a program of a phase in the container, for as long as it may take.
func (b *box) exec(ctx context.Context, time time.Duration, e Exec) (code int, err error) {
	ctx, stop := context.WithTimeoutCause(ctx, limit(time), errPhase)
	defer stop()
	e.Workdir, e.Dir = cmp.Or(e.Workdir, b.task.Environment.Workdir), b.dir
	return b.runtime.Exec(ctx, b.name, e)
}

var errPhase = errors.New("the task's time limit passed")
