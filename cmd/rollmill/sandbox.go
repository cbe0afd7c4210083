package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/cmd/rollmill/settings"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/pipelines/sandbox"
	"github.com/rollmill/rollmill/stages/plugin"
)

var sandboxCommand = cli.Command{
	Name:    "sandbox",
	Heading: settings.BeginHeading,
	Usage:   "serve a small policy that can be trained, for tests without a GPU",
	About: `An engine and a trainer for machines without a GPU, a network or a key: OpenAI
chat completions with logprobs and token ids, and ART's training endpoints. It
prints its URL when it is ready, and serves until it is interrupted, or until the
command of --exec ends.

  rollmill sandbox --dir runs/sandbox
  rollmill sandbox --listen 127.0.0.1:0 --exec 'rollmill train --config rollmill.yaml --set submit.backend=art --set submit.url=$ROLLMILL_SANDBOX_URL'`,
	Body: cli.With(func() *sandboxSettings {
		return &sandboxSettings{
			Options: sandbox.Options{BaseModel: sandbox.DefaultBaseModel, LearningRateScale: 1},
			Listen:  "127.0.0.1:7999",
		}
	}, runSandbox),
}

type sandboxSettings struct {
	sandbox.Options
	Listen, Exec string
	ExecEnv      []string
}

func (o *sandboxSettings) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Execution)
	d.String(&o.Listen, "listen", "listen at this `ADDRESS`; port 0 takes any free port").Common()
	d.String(&o.Dir, "dir", "keep checkpoints in this `FOLDER`").DefaultShown("in memory").Common()
	d.String(&o.Exec, "exec", "run this shell `COMMAND` with ROLLMILL_SANDBOX_URL set, and stop when it ends").Common()
	d.Strings(&o.ExecEnv, "exec-env",
		"pass the environment variable `NAME` to the command; variables named like a secret (KEY, TOKEN, PASSWORD, ...) "+
			"are not passed without this")
	d.Key(&o.APIKey, "api-key-file", "require the key in this `FILE` on /v1").DefaultShown("no key is required")
	d.Heading("Policy")
	d.Int64(&o.Seed, "seed", "initialize the weights with this `SEED`").Common()
	d.String(&o.BaseModel, "base-model", "serve the untrained policy as this `MODEL`").WrittenToRows().Common()
	d.Strings(&o.Models, "model", "register the model `PROJECT/NAME` at the start").WrittenToRows().Common()
	d.Int(&o.Hidden, "hidden", "make the hidden layer of this number of `UNITS`").DefaultShown("64")
	d.Int(&o.GradientSteps, "gradient-steps", "make this number of gradient `STEPS` in each training call").DefaultShown("16")
	d.Float(&o.LearningRateScale, "learning-rate-scale", "multiply the trainer's learning rate by `X`")
}

func runSandbox(ctx context.Context, s *cli.Session, settings *sandboxSettings) error {
	o := settings.Options
	o.Log = s.Logger()
	if err := o.Validate(); err != nil {
		return cli.Usagef("see `rollmill help sandbox`", "%w", err)
	}
	server, err := sandbox.New(o)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", settings.Listen)
	if err != nil {
		return errors.Join(cli.Usagef("choose another --listen; port 0 takes any free port", "%w", err), server.Close())
	}
	url := "http://" + listener.Addr().String()
	if settings.Exec != "" {
		return serveFor(ctx, s, server, listener, url, settings)
	}
	if err := s.Result(url, map[string]string{"url": url, "model": o.BaseModel}); err != nil {
		return err
	}
	return server.Serve(ctx, listener)
}

// serveFor serves while a program runs, and returns the program's error.
func serveFor(ctx context.Context, s *cli.Session, server *sandbox.Server, l net.Listener, url string,
	settings *sandboxSettings) error {
	serving, stop := context.WithCancel(ctx)
	defer stop()
	var group errgroup.Group
	group.Go(func() error { return server.Serve(serving, l) })
	err := shell(ctx, s, settings.Exec, settings.ExecEnv, "ROLLMILL_SANDBOX_URL="+url)
	stop()
	if served := group.Wait(); err == nil {
		err = served
	}
	return err
}

// shell runs a shell command on our streams. When ctx ends it sends SIGTERM, and kills the
// command 10 seconds later. pass names the variables that the command gets although they are
// named like secrets. The shell is the system's, also where the PATH has none.
func shell(ctx context.Context, s *cli.Session, command string, pass []string, env ...string) error {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.In, s.Out, s.Err
	cmd.Env = append(secret.Environ(pass...), env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() > 0 {
		return cli.Exit{Code: exit.ExitCode(), What: fmt.Sprintf("the program ended with exit code %d", exit.ExitCode())}
	}
	return err
}
