package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/cmd/rollmill/settings"
	"github.com/rollmill/rollmill/pipelines/look/serve"
	"github.com/rollmill/rollmill/stages/plugin"
)

var viewCommand = cli.Command{
	Name:    "view",
	Heading: settings.LookHeading,
	Usage:   "serve a run as pages for a browser on this machine",
	About: `Shows the run, its epochs, groups and trajectories, and a rollout under way. Only
reads. Prints a link when it is ready, and serves until it is interrupted. The
link contains a token, and only this machine can open it; from another machine,
forward the port: ssh -L 7100:127.0.0.1:7100 HOST.

A folder of several runs is a list of them, newest first. Choose two or more there
to compare their rewards by epoch and by tokens, the settings that differ, and the
examples that one run solved and another did not. The key ? shows all keys.

  rollmill view runs/demo
  rollmill view runs
  rollmill view runs/demo/epoch-3/score --listen 127.0.0.1:7100
  rollmill view s3://bucket/runs/demo --open`,
	Args:        "URI",
	Folders:     true,
	ArgSettings: []string{"root"},
	Body: cli.With(func() *viewSettings {
		return &viewSettings{RunPlace: settings.RunPlace{Heading: plugin.Input}, Listen: "127.0.0.1:0"}
	}, runView),
}

type viewSettings struct {
	settings.RunPlace
	Listen string
	Open   bool
	Serve  serve.Options
}

func (o *viewSettings) Declare(d *plugin.Declarer) {
	d.Include(&o.RunPlace)
	d.Heading(plugin.Execution)
	settings.DeclarePrices(d, &o.Serve.Prices)
	d.String(&o.Listen, "listen", "listen at this loopback `ADDRESS`; port 0 takes any free port")
	d.Bool(&o.Open, "open", "open the link in a browser")
}

// viewGarbage is how much garbage is kept, in hundredths of what is in use: the columns of ten
// million rows are 900 MB, and sorting them leaves 320 MB.
const viewGarbage = 25

func runView(ctx context.Context, s *cli.Session, o *viewSettings) error {
	if o.Run == "" && o.Root == "" {
		return cli.Usagef("name the run's folder, or a dataset: rollmill view URI", "no run")
	}
	debug.SetGCPercent(viewGarbage)
	_, root := o.Both()
	server, err := serve.New(ctx, serve.Options{Root: root, Prices: o.Serve.Prices, Log: s.Logger()})
	if err != nil {
		return err
	}
	l, err := serve.Listen(o.Listen)
	if err != nil {
		return cli.Usagef("give another --listen, such as 127.0.0.1:0, which takes any free port", "--listen %q: %w",
			o.Listen, err)
	}
	link := server.Link(l)
	if err := s.Result(link, map[string]string{"url": link}); err != nil {
		return err
	}
	if o.Open {
		file, err := browse(link)
		if err != nil {
			s.Say("view: warning: no browser was opened: %v", err)
		}
		defer os.Remove(file)
	}
	return server.Serve(ctx, l)
}

// browse opens a link in the browser that the system prefers. Other users of this machine
// see the arguments of programs, so it passes a file that only this user can read, and
// that leads to the link. The caller removes the file.
func browse(link string) (file string, err error) {
	f, err := os.CreateTemp("", "rollmill-view-*.html")
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintf(f, "<!DOCTYPE html><meta http-equiv=\"refresh\" content=\"0;url=%[1]s\"><a "+
		"href=\"%[1]s\">Rollmill</a>\n", link)
	if err := errors.Join(err, f.Close()); err != nil {
		return f.Name(), err
	}
	program := "xdg-open"
	if runtime.GOOS == "darwin" {
		program = "open"
	}
	cmd := exec.Command(program, f.Name())
	if err := cmd.Start(); err != nil {
		return f.Name(), err
	}
	return f.Name(), cmd.Process.Release()
}
