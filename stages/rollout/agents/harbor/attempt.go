package harbor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/harbor"
	"github.com/rollmill/rollmill/stages/rollout"
)

const (
	removeTime   = time.Minute // for the runtime to remove a container
	maxProcesses = 2048        // of a container
	relayPath    = "/run/rollmill/relay"
	socketPath   = "/run/rollmill/" + socketName
)

// box is the container of one attempt.
type box struct {
	*agent
	task harbor.Task
	name string
	dir  string // of this attempt, among the temporary files
	log  io.Writer
}

// tasks remembers what was read, by folder.
type tasks struct {
	mu   sync.Mutex
	read map[string]harbor.Task
}

// Attempt is part of rollout.Agent.
func (a *agent) Attempt(ctx context.Context, at rollout.Attempt) (rollout.Result, error) {
	return a.in(ctx, at, func(b *box) (rollout.Result, error) { return b.work(ctx, at) })
}

// Solve lets a task's own solution work in place of an agent, without a model.
func (a *agent) Solve(ctx context.Context, e formats.Example) (rollout.Result, error) {
	return a.in(ctx, rollout.Attempt{Example: e, TrajectoryID: "solution"}, func(b *box) (rollout.Result, error) {
		return rollout.Result{}, b.solution(ctx)
	})
}

// in starts a container, has somebody work in it, and verifies the work.
func (a *agent) in(ctx context.Context, at rollout.Attempt, work func(*box) (rollout.Result, error)) (result rollout.Result, err error) {
	task, err := a.tasks.get(at.Example)
	if err != nil {
		return result, &rollout.Failure{Class: formats.FailExample, Err: err}
	}
	log, err := rollout.OpenLog(ctx, a.config.Logs, at.TrajectoryID)
	if err != nil {
		return result, err
	}
	defer log.Close()
	image, err := a.images.get(ctx, task)
	if err != nil {
		return result, failed(ctx, formats.FailImage, err)
	}
	weight := min(max(task.Environment.MemoryMB, 1), a.room)
	if err := a.memory.Acquire(ctx, weight); err != nil {
		return result, context.Cause(ctx)
	}
	defer a.memory.Release(weight)
	b := &box{agent: a, task: task, log: log}
	defer func() { err = errors.Join(err, b.remove(ctx)) }()
	if err := b.start(ctx, image, at); err != nil {
		return result, failed(ctx, formats.FailStart, err)
	}
	if result, err = work(b); err != nil {
		return result, err
	}
	return b.verify(ctx, result)
}

// failed gives an error its class, unless the attempt was ended.
func failed(ctx context.Context, class string, err error) error {
	var f *rollout.Failure
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &f):
		return err
	}
	return &rollout.Failure{Class: class, Err: err}
}

// get returns the task of an example, as it was when the example was read.
func (t *tasks) get(e formats.Example) (harbor.Task, error) {
	var f harbor.Fields
	if err := json.Unmarshal(e.Fields, &f); err != nil || f.Folder == "" || f.Digest == "" {
		return harbor.Task{}, fmt.Errorf("example %q is no Harbor task: name them with --examples harbor:DIR", e.ID)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	task, ok := t.read[f.Folder]
	if !ok {
		local, err := f.Local()
		if err == nil {
			task, err = harbor.Read(local)
		}
		if err != nil {
			return task, err
		}
		if t.read == nil {
			t.read = map[string]harbor.Task{}
		}
		t.read[f.Folder] = task
	}
	if task.Digest != f.Digest {
		return task, fmt.Errorf("the files of task %q changed since its example was read", f.Folder)
	}
	return task, nil
}

// start starts the container.
func (b *box) start(ctx context.Context, image string, at rollout.Attempt) (err error) {
	if b.dir, err = os.MkdirTemp(b.owner.dir, ""); err != nil {
		return err
	}
	b.name = folderPrefix + filepath.Base(filepath.Dir(b.dir))[len(folderPrefix):] + "-" + filepath.Base(b.dir)
	mounts := []Mount{{From: filepath.Join(b.dir, "run"), To: filepath.Dir(relayPath)}}
	for _, folder := range []string{"agent", "verifier", "artifacts"} {
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
	if b.relay != "" {
		if err := os.WriteFile(filepath.Join(mounts[0].From, filepath.Base(relayPath)), nil, 0o755); err != nil {
			return err
		}
		mounts = append(mounts, Mount{From: b.relay, To: relayPath, ReadOnly: true})
	}
	e := b.task.Environment
	env, err := b.resolve(ctx, e.Env)
	if err != nil {
		return err
	}
	if err := b.starts.Acquire(ctx, 1); err != nil {
		return err
	}
	defer b.starts.Release(1)
	return b.runtime.Start(ctx, Container{Name: b.name, Image: image, Dir: b.dir, Mounts: mounts, Env: env, Workdir: e.Workdir,
		Labels: map[string]string{ownerLabel: ownerOf(b.host, b.owner.dir), "rollmill.trajectory": at.TrajectoryID},
		CPUs:   e.CPUs, MemoryMB: e.MemoryMB, FileMB: e.StorageMB, Processes: maxProcesses, NoNetwork: e.NoNetwork})
}

// remove removes the container and the attempt's files, also when ctx has ended.
func (b *box) remove(ctx context.Context) error {
	if b.name == "" {
		return nil
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
	defer stop()
	if err := b.runtime.Remove(ctx, b.name); err != nil {
		b.warn(fmt.Errorf("removing container %s: %w", b.name, err))
		return nil // the next process sweeps it
	}
	if err := os.RemoveAll(b.dir); err != nil { // of users of the container
		b.warn(err)
	}
	return nil
}

func (b *box) warn(err error) { fmt.Fprintln(b.log, "rollmill:", err) }

// resolve returns a task's variables: ${NAME} and ${NAME:-DEFAULT} are of this machine.
func (b *box) resolve(ctx context.Context, env map[string]string) ([]string, error) {
	var settings rollout.ProgramSettings
	for name, value := range env {
		inner, template := strings.CutPrefix(value, "${")
		if inner, closed := strings.CutSuffix(inner, "}"); template && closed {
			from, otherwise, has := strings.Cut(inner, ":-")
			found, ok := b.lookup(from)
			if !ok && !has {
				return nil, fmt.Errorf("task %s: variable %s is %s, which is not set", b.task.Name, name, value)
			}
			value = otherwise
			if ok {
				value = found
			}
		}
		settings.Env = append(settings.Env, name+"="+value)
	}
	return settings.Environ(ctx, rollout.Setup{Lookup: b.lookup})
}

// exec runs a program of a phase in the container, for as long as it may take.
func (b *box) exec(ctx context.Context, time time.Duration, e Exec) (code int, err error) {
	ctx, stop := context.WithTimeoutCause(ctx, limit(time), errPhase)
	defer stop()
	e.Workdir = cmp.Or(e.Workdir, b.task.Environment.Workdir)
	return b.runtime.Exec(ctx, b.name, e)
}

var errPhase = errors.New("the task's time limit passed")
