package command

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/rollmill/rollmill/stages/internal/process"
)

const (
	stderrEnd = 1024    // bytes of stderr kept for errors
	pipeSize  = 1 << 20 // with the usual 64 KiB a batch of wide rows takes dozens of writes
)

// worker is one running program; one goroutine talks to it at a time.
type worker struct {
	*process.Process
	in, out  *os.File
	wire     wire
	replies  chan reply
	stderr   *process.Tail
	sent     int             // rows
	previous map[string]bool // ids of the previous batch
	killed   bool
	noise    []byte // the first line since the last batch that is no answer
	noisy    int    // such lines since the last answer
	warn     func(line []byte)
	again    func(id string) // a second answer came
}

// start starts a program that outlives ctx. Its errors, and what it writes to
// stderr, which is logged, omit the secrets of ctx.
func start(ctx context.Context, w wire, p process.Program, log *slog.Logger) (*worker, error) {
	out := &worker{wire: w, stderr: process.NewLoggedTail(ctx, stderrEnd, log), replies: make(chan reply, 64)}
	p.Stderr = out.stderr
	var err error
	if out.Process, out.in, out.out, err = p.StartPiped(context.WithoutCancel(ctx), pipeSize); err != nil {
		return nil, err
	}
	go out.read()
	return out, nil
}

// read passes the program's answers on until its output ends or is closed.
func (p *worker) read() {
	defer close(p.replies)
	p.wire.read(p.out, func(r reply) { p.replies <- r })
}

// kill ends the program and everything that it started, after the time it gets
// to end by itself. It may be called twice.
func (p *worker) kill(grace time.Duration) {
	if p.killed {
		return
	}
	p.killed = true
	p.in.Close()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	for replies, ended := p.replies, false; !ended; {
		select {
		case <-p.Done():
			ended = true
		case <-timer.C:
			p.Kill()
		case _, more := <-replies: // so that it does not block
			if !more {
				replies = nil
			}
		}
	}
	p.out.Close()
	_ = p.stderr.Close()  // never fails
	for range p.replies { // the reader ends
	}
}

// explain returns the error, with the end of the program's stderr. Only after kill.
func (p *worker) explain(f *failure) error {
	text := f.Error()
	if f.ended {
		text += ": " + p.Status()
	}
	if said := p.stderr.String(); said != "" {
		text += "; stderr ends: " + said
	}
	return errors.New(text)
}
