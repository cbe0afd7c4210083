package rollout

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"

	"github.com/rollmill/rollmill/formats"
)

// Worker is a program that lives for many attempts and is asked by lines. It
// answers one question at a time.
type Worker struct {
	name   string
	cmd    *exec.Cmd
	grace  time.Duration
	stdin  io.WriteCloser
	out    *io.PipeReader
	lines  *bufio.Reader // over out
	stderr *complaints
	ended  chan struct{} // closed when the process has ended
	err    error         // how, after that
}

// StartWorker starts p; its Stdin and Stderr are not used.
func StartWorker(p Program) (*Worker, error) {
	w := &Worker{name: p.Words[0], grace: graceOr(p.Grace), ended: make(chan struct{})}
	w.cmd = exec.Command(p.Words[0], p.Words[1:]...)
	w.cmd.Dir, w.cmd.Env, w.cmd.WaitDelay = p.Dir, append(Environ(), p.Env...), w.grace
	w.cmd.SysProcAttr = leader()
	out, in := io.Pipe()
	w.cmd.Stdout, w.out = in, out
	w.lines = bufio.NewReaderSize(out, 64<<10)
	var err error
	if w.stderr, err = newComplaints(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", w.name, err)
	}
	w.cmd.Stderr = w.stderr.write
	if w.stdin, err = w.cmd.StdinPipe(); err == nil {
		err = w.cmd.Start()
	}
	if err != nil {
		w.stderr.close(0)
		return nil, &Failure{formats.FailAgentExit, fmt.Errorf("starting %s: %w", w.name, err)}
	}
	go func() {
		w.err = w.cmd.Wait()
		killGroup(w.cmd)
		w.stderr.close(w.grace)
		in.Close()
		close(w.ended)
	}()
	return w, nil
}

// Ask sends a line and returns the next one that begins with "{". While it
// waits, the worker's standard error goes to log. After an error the worker
// has ended.
func (w *Worker) Ask(ctx context.Context, line []byte, log io.Writer) ([]byte, error) {
	errs := &tail{most: keptErrors}
	w.stderr.to(both(errs, log))
	defer w.stderr.to(nil)
	defer w.stderr.sync()
	type answer struct {
		line []byte
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		if _, err := w.stdin.Write(line); err != nil {
			answered <- answer{nil, errGone}
			return
		}
		out, err := w.read()
		answered <- answer{out, err}
	}()
	select {
	case a := <-answered:
		if a.err == nil {
			return a.line, nil
		}
		w.Stop()
		if errors.Is(a.err, errGone) {
			return nil, &Failure{formats.FailAgentExit, exitError(w.name, w.how(), errs)}
		}
		return nil, &Failure{formats.FailAgentOutput, a.err}
	case <-ctx.Done():
		w.Stop()
		<-answered
		return nil, context.Cause(ctx)
	}
}

var errGone = errors.New("the worker ended before it answered")

func (w *Worker) how() error {
	if w.err != nil {
		return w.err
	}
	return errGone
}

func (w *Worker) read() ([]byte, error) {
	for {
		var line []byte
		for {
			part, err := w.lines.ReadSlice('\n')
			line = append(line, part...)
			if len(line) > maxOutput {
				return nil, fmt.Errorf("the worker wrote a line of more than %d bytes", maxOutput)
			}
			if err == nil {
				break
			}
			if err != bufio.ErrBufferFull {
				return nil, errGone
			}
		}
		if line[0] == '{' {
			return line, nil
		}
	}
}

// Ended tells whether the process is gone.
func (w *Worker) Ended() bool {
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}

// Stop closes the worker's standard input and ends its process group: SIGTERM
// at once, SIGKILL after the grace.
func (w *Worker) Stop() {
	w.stdin.Close()
	go io.Copy(io.Discard, w.out) // whoever writes must not wait for us; a read of lines may be under way
	syscall.Kill(-w.cmd.Process.Pid, syscall.SIGTERM)
	select {
	case <-w.ended:
	case <-time.After(w.grace):
		killGroup(w.cmd)
		<-w.ended
	}
}
