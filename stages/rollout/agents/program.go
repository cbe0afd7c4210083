package agents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/formats/traceback"
	"github.com/rollmill/rollmill/stages/internal/process"
	"github.com/rollmill/rollmill/storage/regular"
)

const (
	afterKill    = 5 * time.Second // for the system to take a killed process away
	maxOutput    = 1 << 20         // of a program's standard output; more is a failure
	keptErrors   = 16 << 10        // of standard error, its end
	quotedErrors = 4 << 10         // of that, in a failure's text
	maxLog       = 16 << 20        // of standard error in a log
)

// Run returns what a program printed. Its errors are of type *Failure, except
// the cause of a context that ended and the error of a machine that cannot
// start another process. Stderr, which may be nil, gets all of it, even the part that failures quote.
func Run(ctx context.Context, p process.Program) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := &process.Head{Limit: maxOutput, Over: func() { cancel(errFlood) }}
	errs := process.NewTail(ctx, keptErrors)
	p.Stdout, p.Stderr = out, both(errs, p.Stderr)
	err := p.Run(ctx)
	var exit *exec.ExitError
	switch {
	case context.Cause(ctx) == errFlood:
		return nil, &Failure{outcomes.FailAgentOutput, errFlood}
	case err == nil:
		return []byte(out.String()), nil
	case ctx.Err() != nil:
		return nil, err
	case errors.As(err, &exit):
		return nil, &Failure{outcomes.FailAgentExit, exitError(p.Words[0], err, errs)}
	}
	return nil, started(p.Words[0], err)
}

var errFlood = fmt.Errorf("the program wrote more than %d bytes to its standard output", maxOutput)

func exitError(name string, err error, errs *process.Tail) error {
	text := errs.String()
	if said := traceback.Summary(text); said != "" {
		return &traced{fmt.Errorf("%s: %w: %s", name, err, said), text}
	}
	if text != "" {
		return fmt.Errorf("%s: %w: %s", name, err, errs.End(quotedErrors))
	}
	return fmt.Errorf("%s: %w", name, err)
}

// traced is the error of a program that said more than its text: a traceback.
type traced struct {
	error
	trace string
}

func (t *traced) Unwrap() error { return t.error }

// TraceOf returns the traceback of an attempt's error, "" if there is none.
func TraceOf(err error) string {
	var t *traced
	if errors.As(err, &t) {
		return t.trace
	}
	return ""
}

func both(a, b io.Writer) io.Writer {
	if b == nil {
		return a
	}
	return io.MultiWriter(a, b)
}

// OpenLog opens the log file of an agent's standard error, named after the
// trajectory; a further attempt is appended. Without a folder the output is
// discarded. The secrets of ctx are redacted in the file.
func OpenLog(ctx context.Context, folder, trajectoryID string) (io.WriteCloser, error) {
	if folder == "" {
		return &log{Writer: io.Discard, close: func() error { return nil }}, nil
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, fmt.Errorf("the agents' logs: %w", err)
	}
	f, err := regular.OpenFile(filepath.Join(folder, trajectoryID+".stderr"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, fmt.Errorf("the agents' logs: %w", err)
	}
	redacted := secret.From(ctx).NewWriter(&logFile{f: f, left: maxLog})
	return &log{Writer: redacted, close: func() error { return errors.Join(redacted.Close(), f.Close()) }}, nil
}

// log is safe for the programs of several tools at once.
type log struct {
	mu sync.Mutex
	io.Writer
	close func() error
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Writer.Write(p)
}

func (l *log) Close() error { return l.close() }

// logFile keeps the beginning of what is written and never returns an error: a
// full disk must not fail the agent.
type logFile struct {
	f    *os.File
	left int
}

func (l *logFile) Write(p []byte) (int, error) {
	keep := p[:min(len(p), l.left)]
	l.left -= len(keep)
	if _, err := l.f.Write(keep); err != nil {
		l.left = 0
	}
	return len(p), nil
}

// Exhausted reports whether an error means that this process, or the machine,
// cannot open another file or start another process. The agent did not cause
// that, so no trajectory fails: the run ends and keeps the finished ones.
func Exhausted(err error) bool {
	return slices.ContainsFunc([]error{syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM},
		func(limit error) bool { return errors.Is(err, limit) })
}
