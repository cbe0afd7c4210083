package cli

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/rollmill/rollmill/cmd/internal/began"
	"github.com/rollmill/rollmill/cmd/internal/terminal"
	"github.com/rollmill/rollmill/formats/dataset/storetime"
)

// Main runs the app on the command line of this process, with its streams and
// signals, and returns the exit code.
func (a *App) Main() int {
	return a.recoverCrash(func() int {
		ctx, stop := a.untilSignal(context.Background())
		defer stop()
		ctx = storetime.Began(ctx, began.At)
		log.SetOutput(io.Discard) // a client library logs errors there that it also returns
		asks := make(chan os.Signal, 1)
		signal.Notify(asks, askSignals...) // which then do not end the process
		streams := terminal.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Asks: asks, Lookup: os.LookupEnv}
		for _, text := range os.Environ() {
			name, _, _ := strings.Cut(text, "=")
			streams.Environ = append(streams.Environ, name)
		}
		return a.Run(ctx, os.Args, streams)
	})
}

// Interrupted is the cause of a context that a signal cancelled.
type Interrupted struct{ Signal syscall.Signal }

func (i Interrupted) Error() string {
	const kept = "; finished stages, shards, attempts and answers of models are kept, and the same command continues"
	if i.Signal == syscall.SIGTERM {
		return "terminated" + kept
	}
	return "interrupted" + kept
}

// untilSignal returns a context that SIGINT or SIGTERM cancels. A second signal
// kills the process, and so does the first before the command has its settings: they may
// be in a pipe that nobody writes, and there is nothing to end.
func (a *App) untilSignal(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			if !a.begun.Load() {
				os.Exit(128 + int(s.(syscall.Signal)))
			}
			cancel(Interrupted{s.(syscall.Signal)})
		case <-ctx.Done():
		}
	}()
	return ctx, func() { signal.Stop(signals); cancel(nil) }
}
