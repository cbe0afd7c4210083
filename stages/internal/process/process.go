// Package process runs the programs of agents, rewards and trainers, and ends
// them together with everything that they started.
//
// A program leads its own process group. It is ended by SIGTERM to the group and, after a grace,
// by SIGKILL, also when this process is killed: see guardian. When it has ended, its remaining
// children are killed, including those that left the group: see mark. Its environment is this
// process's without secrets: see secret.Environ.
//
// It is not a sandbox: a program runs with the rights of this process.
package process

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/rollmill/rollmill/formats/secret"
)

// DefaultGrace is how long a program may take to end.
const DefaultGrace = 2 * time.Second

// Program is what to run.
type Program struct {
	Words   []string
	Dir     string   // "" is this process's own
	PassEnv []string // variables that it gets although they are named like secrets
	Env     []string // KEY=VALUE, over this process's environment

	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Files          []*os.File // it has them open as descriptors 3, 4, ...

	// Grace is the time from SIGTERM to SIGKILL, and the time for which output is read after the
	// end if another process holds it open; 0 is DefaultGrace.
	Grace time.Duration
	// KeepSessions leaves processes alive that the program started in a session
	// of their own, until KillSessions.
	KeepSessions bool
}

// Process is a program that was started. It is safe for concurrent use.
type Process struct {
	cmd   *exec.Cmd
	mark  mark
	grace time.Duration
	done  chan struct{} // closed when it has ended
	err   error         // how it ended, after that
}

// Start starts the program, and ends it when ctx ends. A program found by a
// relative PATH is run, as in a shell.
func (p Program) Start(ctx context.Context) (*Process, error) {
	s := &Process{cmd: exec.CommandContext(ctx, p.Words[0], p.Words[1:]...), mark: newMark(p.KeepSessions),
		grace: cmp.Or(p.Grace, DefaultGrace), done: make(chan struct{})}
	if errors.Is(s.cmd.Err, exec.ErrDot) {
		s.cmd.Err = nil
	}
	s.cmd.Dir, s.cmd.Env = p.Dir, slices.Concat(secret.Environ(p.PassEnv...), p.Env, []string{s.mark.env()})
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = p.Stdin, p.Stdout, p.Stderr
	s.cmd.ExtraFiles = p.Files
	s.cmd.SysProcAttr, s.cmd.WaitDelay = ownGroup(), s.grace
	s.cmd.Cancel = func() error { return s.signal(syscall.SIGTERM) }
	guard.start()
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	guard.note('+', s.cmd.Process.Pid)
	go s.wait(p.KeepSessions)
	return s, nil
}

// Run runs the program to its end. Its error is the cause of a context that ended, that of Start, or an
// *exec.ExitError.
func (p Program) Run(ctx context.Context) error {
	s, err := p.Start(ctx)
	if err == nil {
		err = s.Wait()
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (s *Process) wait(keepSessions bool) {
	s.err = s.cmd.Wait()
	if errors.Is(s.err, exec.ErrWaitDelay) { // the program succeeded; another process held its output open
		s.err = nil
	}
	s.Kill()
	guard.note('-', s.cmd.Process.Pid)
	if !keepSessions {
		s.KillSessions()
	}
	close(s.done)
}

// Wait returns when the program has ended: nil if it succeeded, else an error
// such as "exit status 3".
func (s *Process) Wait() error {
	<-s.done
	return s.err
}

// Err returns what Wait returns. Only after Done.
func (s *Process) Err() error { return s.err }

// Done is closed when the program has ended.
func (s *Process) Done() <-chan struct{} { return s.done }

// Status returns how the program ended, as in "exit status 0". Only after Done.
func (s *Process) Status() string { return s.cmd.ProcessState.String() }

// Stop ends the group: SIGTERM at once, SIGKILL after the grace. It waits no
// longer: even SIGKILL does not end a process that is blocked in the kernel.
func (s *Process) Stop() {
	_ = s.signal(syscall.SIGTERM)
	select {
	case <-s.done:
	case <-time.After(s.grace):
		s.Kill()
	}
}

// Kill kills the group at once.
func (s *Process) Kill() { _ = s.signal(syscall.SIGKILL) }

// KillSessions kills the processes that the program started in sessions of their own.
func (s *Process) KillSessions() { s.mark.kill() }

// signal sends to the group, unless the program has ended: its number may
// belong to another process then.
func (s *Process) signal(sig syscall.Signal) error {
	select {
	case <-s.done:
		return os.ErrProcessDone
	default:
		return syscall.Kill(-s.cmd.Process.Pid, sig)
	}
}
