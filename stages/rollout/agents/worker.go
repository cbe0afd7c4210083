package agents

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/internal/process"
)

// Worker is a program that serves many attempts, one line each. It answers one
// question at a time, and its answer repeats the trajectory's id.
type Worker struct {
	name    string
	process *process.Process
	grace   time.Duration
	stdin   *os.File
	stdout  *os.File
	stderr  *errorStream
	silent  chan struct{} // closed when nothing more can be read
	ended   chan struct{} // closed when the process has ended and its output was read

	mu     sync.Mutex
	asked  *question // nil between attempts: output is dropped then
	before string    // the trajectory that was answered last
}

// question is one attempt that a worker was asked to make.
type question struct {
	id     string
	answer chan reply // holds the program's, and errGone if it does not take the question
}

type reply struct {
	line []byte
	err  error
}

// StartWorker starts p; its Stdin, Stdout and Stderr are the worker's.
func StartWorker(p process.Program) (*Worker, error) {
	w := &Worker{name: p.Words[0], grace: cmp.Or(p.Grace, process.DefaultGrace), silent: make(chan struct{}),
		ended: make(chan struct{})}
	var err error
	if w.stderr, err = newErrorStream(); err != nil {
		return nil, started(w.name, err)
	}
	p.Stderr = w.stderr.write
	if w.process, w.stdin, w.stdout, err = p.StartPiped(context.Background(), 0); err != nil {
		w.stderr.close(0)
		return nil, started(w.name, err)
	}
	go w.read()
	go w.wait()
	return w, nil
}

// started returns the error of a program that could not be started. A missing
// program is the attempt's failure; a machine without room for another process
// ends the run.
func started(name string, err error) error {
	err = fmt.Errorf("starting %s: %w", name, err)
	if Exhausted(err) {
		return err
	}
	return &Failure{outcomes.FailAgentExit, err}
}

// wait notices the program's end. It waits no longer than the grace for other
// processes that hold its output.
func (w *Worker) wait() {
	_ = w.process.Wait() // Ask reports its error
	w.stdin.Close()
	w.stderr.close(w.grace)
	w.stdout.SetReadDeadline(time.Now().Add(w.grace))
	<-w.silent
	w.stdout.Close()
	close(w.ended)
}

// Ask sends the attempt's line and returns the answer: a JSON object on one
// line with the same "trajectory_id". While it waits, the worker's standard
// error goes to log. After an error the worker has ended.
func (w *Worker) Ask(ctx context.Context, trajectoryID string, line []byte, log io.Writer) ([]byte, error) {
	errs := process.NewTail(ctx, keptErrors)
	w.stderr.to(both(errs, log))
	defer w.stderr.to(nil)
	defer w.stderr.sync()
	q := &question{id: trajectoryID, answer: make(chan reply, 2)}
	w.mu.Lock()
	w.asked = q
	w.mu.Unlock()
	go func() {
		if _, err := w.stdin.Write(line); err != nil {
			q.answer <- reply{err: errGone}
		}
	}()
	var a reply
	select {
	case a = <-q.answer:
	case <-w.silent:
		select {
		case a = <-q.answer:
		default:
			a.err = errGone
		}
	case <-ctx.Done():
		w.Stop()
		return nil, context.Cause(ctx)
	}
	if a.err == nil {
		return a.line, nil
	}
	if !errors.Is(a.err, errGone) {
		w.Stop()
		return nil, &Failure{outcomes.FailAgentOutput, a.err}
	}
	how := errGone
	select { // its own exit status is the cause, and not the signal that ends what is left of it
	case <-w.process.Done():
		how = cmp.Or(w.process.Err(), errGone)
	case <-time.After(min(w.grace, time.Second)):
	}
	w.Stop()
	return nil, &Failure{outcomes.FailAgentExit, exitError(w.name, how, errs)}
}

var errGone = errors.New("the worker ended before it answered")

// read reads the program's output until it ends. Lines between attempts are
// dropped, so that none is taken for a later answer.
func (w *Worker) read() {
	defer close(w.silent)
	lines := bufio.NewReaderSize(w.stdout, 64<<10)
	for {
		line, err := jsontext.ReadLine(lines, maxOutput, errLine)
		if err != nil && !errors.Is(err, errLine) {
			return
		}
		if asked := w.handle(line, err); asked && err != nil {
			_, _ = io.Copy(io.Discard, lines) // so that the program does not block
			return
		}
		for err != nil { // the rest of a line between attempts
			if _, err = lines.ReadSlice('\n'); err != nil && err != bufio.ErrBufferFull {
				return
			}
		}
	}
}

var errLine = fmt.Errorf("the worker wrote a line of more than %d bytes", maxOutput)

// handle handles one line, or that it is too long. It reports whether the worker
// was asked.
func (w *Worker) handle(line []byte, err error) (asked bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asked == nil {
		return false
	}
	if err == nil {
		if line[0] != '{' {
			return true
		}
		var answer struct {
			ID *string `json:"trajectory_id"`
		}
		clean, _ := jsontext.Mend(line) // ReadResult says what is lost
		switch parsed := json.Unmarshal(clean, &answer); {
		case answer.ID != nil && *answer.ID == w.asked.id:
		case answer.ID != nil && *answer.ID == w.before:
			return true // a repeated answer
		case parsed != nil:
			err = fmt.Errorf("the worker's answer is not JSON: %w: %.200s", parsed, line)
		case answer.ID == nil:
			err = fmt.Errorf(`the worker wrote a line without "trajectory_id", which every answer has to echo; logs go to standard error: %.200s`, line)
		default:
			err = fmt.Errorf("the worker was asked about trajectory %q and answered about %.200q", w.asked.id, *answer.ID)
		}
	}
	w.before = w.asked.id
	w.asked.answer <- reply{bytes.Clone(line), err}
	w.asked = nil
	return true
}

// Ended reports whether the process has ended.
func (w *Worker) Ended() bool {
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}

// Stop closes the worker's standard input and ends its process group: SIGTERM
// at once, SIGKILL after the grace. It returns when the group has ended.
func (w *Worker) Stop() {
	w.stdin.Close()
	w.process.Stop()
	select {
	case <-w.ended:
	case <-time.After(w.grace + afterKill): // not even SIGKILL ends a process that the kernel holds
	}
}
