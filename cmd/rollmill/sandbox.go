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

	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/stages/backends/sandbox"
	"github.com/rollmill/rollmill/stages/plugin"
)

var sandboxCommand = command{
	name:    "sandbox",
	heading: commandsHeading,
	usage:   "serve a small real policy that learns, behind the real protocols",
	about: `An engine and a trainer for machines without GPU, network or key: OpenAI-style
chat with logprobs and token ids, and ART's training endpoints. It prints its
URL when it answers, and serves until it is interrupted, or until the program
of --exec ends.

  rollmill sandbox --dir runs/sandbox
  rollmill sandbox --listen 127.0.0.1:0 --exec 'rollmill train --config rollmill.yaml --set submit.url=$ROLLMILL_SANDBOX_URL'`,
	body: with(newSandboxSettings, runSandbox),
}

type sandboxSettings struct {
	sandbox.Options
	Listen, Exec string
	ExecEnv      []string
}

func newSandboxSettings() *sandboxSettings {
	return &sandboxSettings{
		Options: sandbox.Options{BaseModel: sandbox.DefaultBaseModel, LearningRateScale: 1, Dialect: sandbox.Legacy},
		Listen:  "127.0.0.1:7999",
	}
}

func (o *sandboxSettings) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Execution)
	d.String(&o.Listen, "listen", "answer at this `ADDRESS`; port 0 takes any that is free")
	d.String(&o.Dir, "dir", "keep checkpoints in this `FOLDER`").Shown("in memory")
	d.String(&o.Exec, "exec", "run this shell `COMMAND` with ROLLMILL_SANDBOX_URL set, and end when it ends")
	d.Strings(&o.ExecEnv, "exec-env", "pass the environment variable `NAME` to the command; without this it gets none that is named like a secret (KEY, TOKEN, PASSWORD, ...)")
	d.Key(&o.APIKey, "api-key-file", "require on /v1 the key in this `FILE`").Shown("none is required")
	d.String(&o.SampleLog, "sample-log", "append every sampled id and logprob to this `FILE`")
	d.Heading("Policy")
	d.Int64(&o.Seed, "seed", "draw the untrained weights with this `SEED`")
	d.String(&o.BaseModel, "base-model", "serve the untrained policy as this `MODEL`").Open()
	d.Strings(&o.Models, "model", "know this `PROJECT/NAME` from the start").Open()
	d.Int(&o.Hidden, "hidden", "use a hidden layer of this many `UNITS`").Shown("64")
	d.Int(&o.GradientSteps, "gradient-steps", "do this many gradient `STEPS` in a training call").Shown("8")
	d.Float(&o.LearningRateScale, "learning-rate-scale", "multiply the trainer's learning rate by `X`")
	plugin.Choice(d, &o.Dialect, "dialect", "behave as this `AGE` of ART server: "+words(dialects), dialects...)
	d.Bool(&o.SuffixedOnly, "suffixed-only", "serve name@step alone, as newer ART servers do")
	d.String(&o.PrepareHost, "prepare-host", "name this `HOST` when asked where the policy answers")
}

var dialects = []sandbox.Dialect{sandbox.Legacy, sandbox.Frontend, sandbox.Inference}

func runSandbox(ctx context.Context, s *session, settings *sandboxSettings) error {
	o := settings.Options
	o.Log = s.logger()
	if err := o.Validate(); err != nil {
		return usage("see rollmill sandbox --help", "%w", err)
	}
	server, err := sandbox.New(o)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", settings.Listen)
	if err != nil {
		return errors.Join(usage("choose another --listen; port 0 takes any that is free", "%w", err), server.Close())
	}
	url := "http://" + listener.Addr().String()
	if settings.Exec != "" {
		return s.serveFor(ctx, server, listener, url, settings)
	}
	if err := s.result(url, map[string]string{"url": url, "model": o.BaseModel}); err != nil {
		return err
	}
	return server.Serve(ctx, listener)
}

// serveFor serves while a program runs, and ends as the program did.
func (s *session) serveFor(ctx context.Context, server *sandbox.Server, l net.Listener, url string, settings *sandboxSettings) error {
	serving, stop := context.WithCancel(ctx)
	defer stop()
	var group errgroup.Group
	group.Go(func() error { return server.Serve(serving, l) })
	err := s.shell(ctx, settings.Exec, settings.ExecEnv, "ROLLMILL_SANDBOX_URL="+url)
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
