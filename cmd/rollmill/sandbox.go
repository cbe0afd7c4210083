package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/stages/backends/sandbox"
)

var sandboxCommand = command{
	name:    "sandbox",
	heading: aroundIt,
	usage:   "serve a small real policy that learns, behind the real protocols",
	about: `An engine and a trainer for machines without GPU, network or key: OpenAI-style
chat with logprobs and token ids, and ART's training endpoints. It prints its
URL when it answers, and serves until it is interrupted, or until the program
of --exec ends.

  rollmill sandbox --dir runs/sandbox
  rollmill sandbox --listen 127.0.0.1:0 --exec 'rollmill train --config rollmill.yaml --set submit.url=$ROLLMILL_SANDBOX_URL'`,
	flags: sandboxFlags,
	run:   runSandbox,
}

func sandboxFlags() []cli.Flag {
	flags := inCategory(aboutRunning,
		&cli.StringFlag{Name: "listen", Value: "127.0.0.1:7999", Usage: "answer at this `ADDRESS`; port 0 for any that is free"},
		&cli.StringFlag{Name: "dir", Usage: "keep checkpoints in this `FOLDER`; default: in memory"},
		&cli.StringFlag{Name: "exec", Usage: "run this shell `COMMAND` with ROLLMILL_SANDBOX_URL set, and end when it ends"},
		&cli.StringSliceFlag{Name: "exec-env", Usage: "pass the environment variable `NAME` to the command; without it the command gets none that is named like a secret (KEY, TOKEN, PASSWORD, ...)"},
		&cli.StringFlag{Name: "api-key-file", Usage: "ask on /v1 for the key in this `FILE`; default: ask for none"},
		&cli.StringFlag{Name: "sample-log", Usage: "append every sampled id and logprob to this `FILE`"},
	)
	return append(flags, inCategory("What it is",
		&cli.Int64Flag{Name: "seed", Usage: "`SEED` of the untrained weights"},
		&cli.StringFlag{Name: "base-model", Value: sandbox.DefaultBaseModel, Usage: "serve the untrained policy as this `MODEL`"},
		&cli.StringSliceFlag{Name: "model", Usage: "know this `PROJECT/NAME` from the start"},
		&cli.IntFlag{Name: "hidden", Usage: "`UNITS` of the hidden layer", DefaultText: "64"},
		&cli.IntFlag{Name: "gradient-steps", Usage: "gradient `STEPS` of a training call", DefaultText: "8"},
		&cli.Float64Flag{Name: "learning-rate-scale", Value: 1, Usage: "multiply the trainer's learning rate by `X`"},
		&cli.StringFlag{Name: "dialect", Value: string(sandbox.Legacy), Usage: "be this `AGE` of ART server: legacy, frontend or none"},
		&cli.BoolFlag{Name: "suffixed-only", Usage: "serve name@step alone, as newer ART servers do"},
		&cli.StringFlag{Name: "prepare-host", Usage: "name this `HOST` when asked where the policy answers"},
	)...)
}

func runSandbox(ctx context.Context, s *session) error {
	c := s.flags
	o := sandbox.Options{
		Dir: c.String("dir"), Seed: c.Int64("seed"), BaseModel: c.String("base-model"), Models: c.StringSlice("model"),
		Hidden: c.Int("hidden"), GradientSteps: c.Int("gradient-steps"), LearningRateScale: c.Float64("learning-rate-scale"),
		Dialect: sandbox.Dialect(c.String("dialect")), SuffixedOnly: c.Bool("suffixed-only"), PrepareHost: c.String("prepare-host"),
		SampleLog: c.String("sample-log"), Log: s.logger(),
	}
	var err error
	if o.APIKey, err = s.apiKey(c.String("api-key-file")); err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return usage("see rollmill sandbox --help", "%w", err)
	}
	server, err := sandbox.New(o)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", c.String("listen"))
	if err != nil {
		return errors.Join(usage("choose another --listen; port 0 takes any that is free", "%w", err), server.Close())
	}
	url := "http://" + listener.Addr().String()
	if c.String("exec") != "" {
		return s.serveFor(ctx, server, listener, url)
	}
	if err := s.result(url, map[string]string{"url": url, "model": o.BaseModel}); err != nil {
		return err
	}
	return server.Serve(ctx, listener)
}

// serveFor serves while a program runs, and ends as the program did.
func (s *session) serveFor(ctx context.Context, server *sandbox.Server, l net.Listener, url string) error {
	serving, stop := context.WithCancel(ctx)
	defer stop()
	var group errgroup.Group
	group.Go(func() error { return server.Serve(serving, l) })
	err := s.shell(ctx, s.flags.String("exec"), s.flags.StringSlice("exec-env"), "ROLLMILL_SANDBOX_URL="+url)
	stop()
	if served := group.Wait(); err == nil {
		err = served
	}
	return err
}

// shell runs a shell command on our streams, and ends it gently when ctx ends.
// pass names the variables that it gets although they are called as secrets are.
func (s *session) shell(ctx context.Context, command string, pass []string, env ...string) error {
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.in, s.out, s.talk.w
	cmd.Env = append(secret.Environ(pass...), env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() > 0 {
		return exitWith{exit.ExitCode(), fmt.Sprintf("the program ended with exit code %d", exit.ExitCode())}
	}
	return err
}
