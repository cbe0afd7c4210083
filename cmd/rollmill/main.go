// Command rollmill turns an agent's runs into training data, one epoch at a
// time: rollout, score, group, curate, submit.
//
// This package is only the command line: it reads flags, the environment and the
// config file into the Options of a stage, opens what the stage needs from
// outside, and prints the result. To add a command, write one file with a value
// of type command and a plain function, and add the value to the list in app.go.
// Its config keys, environment variables, completion and page under doc/ are
// derived from its settings (`go test ./cmd/rollmill -run TestDocs -update`
// rewrites the pages).
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

func main() { os.Exit(recoverCrash(process)) }

// process runs the command line in the real process.
func process() int {
	ctx, stop := untilSignal(context.Background())
	defer stop()
	log.SetOutput(io.Discard) // a client library logs errors there that it also returns
	s := newStreams(os.Stdin, os.Stdout, os.Stderr, os.LookupEnv)
	for _, text := range os.Environ() {
		name, _, _ := strings.Cut(text, "=")
		s.environ = append(s.environ, name)
	}
	return run(ctx, s, os.Args)
}

// interrupted is the cause of a context that a signal cancelled.
type interrupted struct{ signal syscall.Signal }

func (i interrupted) Error() string {
	if i.signal == syscall.SIGTERM {
		return "terminated"
	}
	return "interrupted"
}

// untilSignal returns a context that SIGINT or SIGTERM cancels. A second signal
// kills the process.
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
