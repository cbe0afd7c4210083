package cli

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/rollmill/rollmill/cmd/internal/monitors"
	"github.com/rollmill/rollmill/cmd/internal/terminal"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage/fault"
)

// commandLine is a command line while it is parsed and run.
type commandLine struct {
	*terminal.Console
	app        *App
	command    string // that runs, for errors
	global     *globals
	everywhere []*option // of global; shared, so that they may come before or after the command
}

// parser returns the parser, which runs the command that it finds.
func (l *commandLine) parser() *urfave.App {
	return &urfave.App{
		Name:                      "rollmill",
		Usage:                     l.app.Usage,
		Version:                   l.app.Version,
		Writer:                    l.Out,
		ErrWriter:                 io.Discard, // Run reports each error once
		Flags:                     flagsOf(l.everywhere),
		HideHelp:                  true, // --help is our own setting, so that it can show the chosen plug-ins
		DisableSliceFlagSeparator: true,
		ExitErrHandler:            func(*urfave.Context, error) {},
		OnUsageError: func(_ *urfave.Context, err error, _ bool) error {
			return l.app.flagError(Command{}, err, firstStep, l.everywhere)
		},
		Action:   func(c *urfave.Context) error { return l.noCommand(c.Args().Slice()) },
		Commands: each(l.app.Commands, l.build),
	}
}

func (l *commandLine) build(cmd Command) *urfave.Command {
	settings, own := cmd.fresh()
	all := append(slices.Clip(own), l.everywhere...)
	return &urfave.Command{
		Name:        cmd.Name[strings.LastIndex(cmd.Name, " ")+1:],
		Usage:       cmd.Usage,
		Category:    cmd.Heading,
		Flags:       flagsOf(all),
		HideHelp:    true,
		Subcommands: each(cmd.Parts, l.build),
		OnUsageError: func(_ *urfave.Context, err error, _ bool) error {
			l.command = cmd.Name
			return l.app.flagError(cmd, err, "see `rollmill help "+cmd.Name+"`", all)
		},
		Action: func(c *urfave.Context) error {
			l.command = cmd.Name
			return l.run(c.Context, cmd, c.Args().Slice(), settings, own)
		},
	}
}

// run runs a command whose flags are parsed.
func (l *commandLine) run(ctx context.Context, cmd Command, args []string, settings plugin.Settings,
	own []*option) error {
	switch {
	case l.global.Help:
		_, err := io.WriteString(l.Out, cmd.brief(settings, own))
		return err
	case cmd.Parts != nil:
		return cmd.noPart(args)
	}
	session, err := l.session(ctx, cmd, args, settings, own)
	if err != nil {
		return err
	}
	l.app.begun.Store(true)
	ctx = dataset.WithBases(secret.With(ctx, l.Secrets), l.global.Bases)
	ctx = fault.CountRetries(ctx, &l.Retries)
	begun := time.Now()
	asking, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	l.Board.Answer(asking, cmd.Name, l.Asks)
	if err := session.watch(settings); err != nil {
		return err
	}
	if cmd.Scans {
		ctx = session.countBytes(ctx)
	}
	err = errors.Join(cmd.do(ctx, session, settings), session.Close())
	l.Board.Close()
	session.monitors.End(monitors.End{Place: session.Place, ExitCode: exitCode(ctx, err), Begun: begun, At: time.Now()})
	if n := l.Secrets.Replaced(); n > 0 {
		l.Logger().Warn("secrets were redacted from what this command wrote: keys in the paths of URLs, or what a program "+
			"or service repeats", "values", n)
	}
	return err
}

// noCommand runs when the parser found no command: the command line is empty,
// asks for help, or names an unknown command.
func (l *commandLine) noCommand(args []string) error {
	switch {
	case len(args) > 0 && args[0] == "help":
		return l.app.help(l.Console, args[1:])
	case len(args) > 0:
		return Usagef(plugin.Nearest(args[0], append(l.app.commandNames(), "--version"), firstStep),
			"there is no command %q", args[0])
	case l.global.Help:
		return l.app.help(l.Console, nil)
	}
	if _, err := io.WriteString(l.Stderr, l.app.appHelp()+"\n"); err != nil {
		return err
	}
	return Usagef("write one of the commands above", "no command was given")
}

// session applies flags, --set, the environment and the config file to the
// settings, and returns the session with them.
func (l *commandLine) session(ctx context.Context, cmd Command, args []string, settings plugin.Settings,
	own []*option) (*Session, error) {
	if err := cmd.assignArgs(args, own); err != nil {
		return nil, err
	}
	config, err := l.app.readConfig(ctx, l.Console, l.global)
	if err != nil {
		return nil, err
	}
	if err := config.apply("", l.everywhere); err != nil {
		return nil, err
	}
	if err := config.apply(cmd.configSection(), own); err != nil {
		return nil, err
	}
	if err := checkChosen(own); err != nil {
		return nil, err
	}
	if err := setGlobals(l.Console, l.global); err != nil {
		return nil, err
	}
	for _, key := range config.empty {
		l.Logger().Warn("a key of the config file has no value and counts as absent", "key", key)
	}
	if err := l.app.checkVariables(l.Console); err != nil {
		return nil, err
	}
	if err := resolveSecrets(l.Console, settings, own); err != nil {
		return nil, err
	}
	return &Session{Console: l.Console, app: l.app, Command: cmd.Name, Args: args, config: config, options: own}, nil
}
