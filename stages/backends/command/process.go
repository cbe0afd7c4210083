package command

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/redaction"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/internal/process"
)

const (
	maxLine = 1 << 20  // of an answer
	maxAll  = 64 << 20 // of all lines of an answer; a program that says more is ended
	tailLen = 4 << 10  // of stderr kept for an error
)

// ask starts the program for one request and reads its answer to the end. It ends with ctx: the
// program and its children are then ended. Processes that it left in sessions of their own are
// killed, too, unless it named a job or a policy.
func (t *Trainer) ask(ctx context.Context, r Request, event func(backends.JobEvent)) (Answer, error) {
	var a Answer
	line, err := json.Marshal(r)
	if err != nil {
		return a, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	errs := process.NewTail(ctx, tailLen)
	out, in := io.Pipe()
	read := make(chan error, 1)
	go func() {
		err := a.read(secret.From(ctx), out, event)
		if errors.Is(err, errFlood) {
			cancel(err)
		}
		_, _ = io.Copy(io.Discard, out)
		read <- err
	}()
	program, err := process.Program{Words: t.cfg.Words, PassEnv: t.cfg.PassEnv, KeepSessions: true,
		Stdin: bytes.NewReader(append(line, '\n')), Stdout: in, Stderr: errs}.Start(ctx)
	if err != nil {
		in.Close()
		<-read
		return a, &Error{What: fmt.Sprintf("command: starting %q", t.cfg.Words[0]), Err: err, Usage: true}
	}
	ended := program.Wait()
	in.Close()
	wrong := <-read
	a.first = secret.From(ctx).Redact(a.first)
	if a.Job == "" && a.Policy == nil { // else the job continues by itself, or the policy is served
		program.KillSessions()
	}
	switch {
	case ctx.Err() != nil && wrong == nil:
		return a, context.Cause(ctx)
	case wrong != nil:
		return a, &Error{What: fmt.Sprintf("command: what %q answered to %q", t.cfg.Words[0], r.Request), Err: wrong,
			Help: hint(errs)}
	case ended != nil:
		return a, &Error{What: fmt.Sprintf("command: %q, asked to %q", t.cfg.Words[0], r.Request), Err: ended,
			Help: hint(errs)}
	}
	return a, nil
}

// errFlood ends a program whose output is too long.
var errFlood = fmt.Errorf("more than %d MiB of answers", maxAll>>20)

// read reads the lines of an answer. It passes over a line that is no answer, such as
// what a library prints while the program trains, and counts it: the program's end is
// in another line. It adds keys in the path of the policy's URL to the known secrets.
func (a *Answer) read(known *secret.Set, out io.Reader, event func(backends.JobEvent)) error {
	lines := bufio.NewScanner(out)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	all := 0
	for n := 1; lines.Scan(); n++ {
		if all += len(lines.Bytes()); all > maxAll {
			return fmt.Errorf("%w: it was killed at line %d", errFlood, n)
		}
		if text := bytes.TrimSpace(lines.Bytes()); len(text) == 0 {
			continue
		} else if text[0] != '{' {
			a.stray(text, nil)
			continue
		}
		var line Answer
		lost, err := jsontext.Foreign(lines.Bytes(), &line)
		if err != nil {
			a.stray(bytes.TrimSpace(lines.Bytes()), fmt.Errorf("line %d is not the expected JSON: %w", n, err))
			continue
		}
		for _, name := range lost {
			stages.Count(&a.lost, name, 1)
		}
		if line.Policy != nil {
			if err := secret.InURL(line.Policy.URL); err != nil { // it is written into receipts
				return fmt.Errorf("line %d: policy: %w", n, err)
			}
			redaction.AddInPath(known, "policy", line.Policy.URL, true)
		}
		a.add(line)
		if event != nil && (line.Job != "" || line.Metrics != nil || line.Note != "") {
			event(backends.JobEvent{Job: line.Job, Metrics: line.Metrics, Note: line.Note})
		}
	}
	return lines.Err()
}

func hint(errs *process.Tail) string {
	text := errs.String()
	if text == "" {
		return ""
	}
	return "the end of the program's standard error: " + text
}
