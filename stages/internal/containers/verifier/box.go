// Package verifier runs the tests of Harbor tasks on the work that a container holds: it ends
// what was left running, copies the tests in, runs them and reads the rewards that they leave.
package verifier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/harbor"
	"github.com/rollmill/rollmill/stages/internal/containers"
	"github.com/rollmill/rollmill/stages/internal/process"
)

// Version is raised when the same work gets other rewards.
const Version = 2

// Where a container has files of this process.
const (
	RelayPath       = "/run/rollmill/relay"
	InstructionPath = "/run/rollmill/instruction.md"
)

const (
	removeTime   = time.Minute // for the runtime to remove a container
	maxProcesses = 2048        // of a container
)

// Tasks are what the containers of all tasks share.
type Tasks struct {
	*containers.Machine
	Variables Variables
	Relay     string // this program's binary, which containers see; "" for none
	Keep      bool   // let what was left running live on
}

// TaskImage brings a task's image and returns its name.
func (s *Tasks) TaskImage(ctx context.Context, t harbor.Task) (name string, err error) {
	if name, err = t.ImageName(); err != nil {
		return "", err
	}
	folder := t.EnvironmentDir()
	if t.Environment.Image != "" {
		folder = ""
	}
	return name, s.Bring(ctx, name, folder, t.Environment.BuildTimeout)
}

// Box is a task's container.
type Box struct {
	*Tasks
	Task    harbor.Task
	Name    string
	Dir     string       // on this machine, of the container's files
	Log     io.Writer    // of everything that programs print
	Printed process.Head // by the tests

	before containers.Processes // that ran before the work began

	origin   formats.Workspace // see List
	folders  []string          // of the workspace
	unlisted error
	blind    bool // the container has no shell that tells what runs
}

// logs are the folders below /logs, the first to be kept first.
var logs = []string{"verifier", "agent", "artifacts"}

// Start starts a container of an image for a trajectory. The box must be removed, also after
// an error.
func (s *Tasks) Start(ctx context.Context, t harbor.Task, image, trajectory string, log io.Writer) (b *Box, err error) {
	b = &Box{Tasks: s, Task: t, Log: log, Printed: process.Head{Limit: harbor.MaxArtifactBytes}}
	if b.Dir, b.Name, err = s.Folder(); err != nil {
		return b, err
	}
	mounts, err := b.mounts()
	if err != nil {
		return b, err
	}
	if _, ends := containers.Ended(s.Runtime, b.Name); ends && b.keeps() {
		return b, errors.New("the task keeps processes, which runtime bwrap ends with the program that left them: use podman or docker")
	}
	e := t.Environment
	env, err := s.Variables.Resolve(ctx, t, "environment")
	if err != nil {
		return b, err
	}
	err = s.Machine.Start(ctx, trajectory, containers.Container{Name: b.Name, Image: image, Dir: b.Dir, Mounts: mounts,
		Env: env, Workdir: e.Workdir, CPUs: e.CPUs, MemoryMB: e.MemoryMB, FileMB: e.StorageMB, Processes: maxProcesses,
		NoNetwork: e.NoNetwork, Network: e.Network})
	if err == nil {
		err = b.Before(ctx)
	}
	return b, err
}

// mounts makes the folders that the container shares with this process.
func (b *Box) mounts() ([]containers.Mount, error) {
	// No container may write where this process does: a link there would lead it elsewhere.
	mounts := []containers.Mount{{From: filepath.Join(b.Dir, "run"), To: filepath.Dir(RelayPath), ReadOnly: true}}
	for _, folder := range logs {
		mounts = append(mounts, containers.Mount{From: filepath.Join(b.Dir, folder), To: "/logs/" + folder})
	}
	for _, m := range mounts {
		// Whatever the mask: the container has users of its own.
		if err := errors.Join(os.Mkdir(m.From, 0o777), os.Chmod(m.From, 0o777)); err != nil {
			return nil, err
		}
	}
	file := filepath.Join(mounts[0].From, filepath.Base(InstructionPath))
	err := errors.Join(os.WriteFile(file, []byte(b.Task.Instruction), 0o644), os.Chmod(file, 0o644))
	if b.Relay != "" {
		err = errors.Join(err, os.WriteFile(filepath.Join(mounts[0].From, filepath.Base(RelayPath)), nil, 0o755))
		mounts = append(mounts, containers.Mount{From: b.Relay, To: RelayPath, ReadOnly: true})
	}
	return mounts, err
}

// Remove removes the container and its files, also when ctx has ended. What it cannot
// remove, the next process sweeps.
func (b *Box) Remove(ctx context.Context) {
	if b.Name == "" {
		return
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
	defer stop()
	err := b.Runtime.Remove(ctx, b.Name)
	if err == nil {
		err = os.RemoveAll(b.Dir) // of users of the container
	}
	if err != nil {
		b.warn(fmt.Errorf("removing container %s: %w", b.Name, err))
	}
}

func (b *Box) warn(err error) { fmt.Fprintln(b.Log, "rollmill:", err) }

// Exec runs a program of a phase in the container, for as long as it may take.
func (b *Box) Exec(ctx context.Context, time time.Duration, e containers.Exec) (code int, err error) {
	ctx, stop := context.WithTimeoutCause(ctx, containers.Limit(time), containers.ErrPhase)
	defer stop()
	e.Workdir, e.Dir = cmp.Or(e.Workdir, b.Task.Environment.Workdir), b.Dir
	return b.Runtime.Exec(ctx, b.Name, e)
}
