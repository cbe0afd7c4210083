// Command rollmill turns an agent's runs into training data, one epoch at a
// time: rollout, score, group, curate, submit.
//
// This package is the command line and nothing that could be a library: it
// reads flags, environment and config into the Options of a stage, hands the
// stage what it needs from outside, and prints what came of it. To add a
// command, write one file with a value of type command and a plain function,
// and add the value to the list in app.go; its flags then have config keys,
// environment variables, completion and a page under doc/ by themselves
// (`go test ./cmd/rollmill -run TestDocs -update` rewrites the pages).
package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() { os.Exit(guarded(process)) }

// process runs the command line in the real process.
func process() int {
	ctx, stop := untilSignal(context.Background())
	defer stop()
	log.SetOutput(io.Discard) // a client library logs there what it also returns
	s := newStreams(os.Stdin, os.Stdout, os.Stderr, os.LookupEnv)
	for _, text := range os.Environ() {
		name, _, _ := strings.Cut(text, "=")
		s.environ = append(s.environ, name)
	}
	return run(ctx, s, os.Args)
}

// interrupted is the cause of a context that a signal ended.
type interrupted struct{ signal syscall.Signal }

func (i interrupted) Error() string {
	if i.signal == syscall.SIGTERM {
		return "terminated"
	}
	return "interrupted"
}

// untilSignal ends the context at the first interrupt or termination; the
// second one kills the process.
func untilSignal(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(interrupted{s.(syscall.Signal)})
		case <-ctx.Done():
		}
	}()
	return ctx, func() { signal.Stop(signals); cancel(nil) }
}
