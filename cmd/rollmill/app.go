package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/plugin"
)

// The headings of --help.
const (
	stagesHeading   = "Stages"
	commandsHeading = "Other commands"

	synopsis  = "turn an agent's runs into training data, one epoch at a time"
	dataFlow  = "examples -> rollout -> score -> group -> curate -> submit -> trainer"
	firstStep = "see `rollmill --help`"
)

// command is one subcommand: its help, its settings and its function.
type command struct {
	name        string
	heading     string   // stagesHeading or commandsHeading
	usage       string   // one lower-case phrase
	about       string   // paragraphs for --help and the page
	args        string   // its arguments, as help shows them; "" for none
	argSettings []string // settings that take the arguments, in order; nil when the command reads them itself
	section     string   // of the config file whose keys it has; "" for its own
	body

	parts []command // subcommands, each with a full name such as "storage check"; a command that has them does nothing itself
}

// body is a command's settings and its function.
type body struct {
	settings func() plugin.Settings // returns them at their defaults
	do       func(ctx context.Context, s *session, o plugin.Settings) error
}

// with returns a body with typed settings.
func with[S plugin.Settings](fresh func() S, do func(context.Context, *session, S) error) body {
	return body{
		settings: func() plugin.Settings { return fresh() },
		do:       func(ctx context.Context, s *session, o plugin.Settings) error { return do(ctx, s, o.(S)) },
	}
}

// fresh returns the command's settings at their defaults, and their options.
func (cmd command) fresh() (plugin.Settings, []*option) {
	if cmd.body.settings == nil {
		return nil, nil
	}
	settings := cmd.body.settings()
	return settings, optionsOf(plugin.Declared(settings))
}

// options returns the command's own options, at their defaults.
func (cmd command) options() []*option {
	_, options := cmd.fresh()
	return options
}

// commands lists the commands: the stages in the order of the data, then the
// others.
func commands() []command {
	return []command{
		rolloutCommand,
		scoreCommand,
		groupCommand,
		curateCommand,
		submitCommand,
		trainCommand,
		checkCommand,
		jobCommand,
		sandboxCommand,
		reportCommand,
		showCommand,
		explainCommand,
		auditCommand,
		diffCommand,
		evalCommand,
		sealCommand,
		storageCommand,
		completionCommand(),
	}
}

// session is one run of one command.
type session struct {
	*streams
	command string
	config  *configured
	options []*option
	args    []string
	opened  []io.Closer // closed when the command ends
}

// close closes what the command opened.
func (s *session) close() (err error) {
	for _, c := range s.opened {
		err = errors.Join(err, c.Close())
	}
	return err
}

// given reports whether a setting was given on the command line, in the
// environment or in the configuration.
func (s *session) given(name string) bool {
	o := optionNamed(s.options, name)
	return o != nil && o.texts != nil
}

// stageEnv returns the log and the progress meter for a stage.
func (s *session) stageEnv() stages.Env {
	return stages.Env{Log: s.logger(), Progress: s.meter}
}

// run runs the command line and returns the exit code.
func run(ctx context.Context, s *streams, args []string) int {
	name := ""
	err := newApp(s, &name).RunContext(ctx, argsLast(args))
	code := exitCode(ctx, err)
	if err != nil {
		s.fail(name, code, err)
	}
	return code
}

func newApp(s *streams, name *string) *cli.App {
	global := newGlobals()
	everywhere := optionsOf(plugin.Declared(global)) // shared, so that they may come before or after the command
	app := &cli.App{
		Name:                      "rollmill",
		Usage:                     synopsis,
		Version:                   version(),
		Writer:                    s.out,
		ErrWriter:                 io.Discard, // run reports each error once
		Flags:                     flagsOf(everywhere),
		HideHelp:                  true, // --help is our own setting, so that it can show the chosen plug-ins
		DisableSliceFlagSeparator: true,
		ExitErrHandler:            func(*cli.Context, error) {},
		OnUsageError:              func(_ *cli.Context, err error, _ bool) error { return flagError(err, everywhere) },
		Action: func(c *cli.Context) error {
			return appAction(s, c, global)
		},
	}
	for _, cmd := range commands() {
		app.Commands = append(app.Commands, cmd.build(s, name, global, everywhere))
	}
	return app
}

func (cmd command) build(s *streams, name *string, global *globals, everywhere []*option) *cli.Command {
	settings, own := cmd.fresh()
	var parts []*cli.Command
	for _, p := range cmd.parts {
		parts = append(parts, p.build(s, name, global, everywhere))
	}
	return &cli.Command{
		Name:     cmd.name[strings.LastIndex(cmd.name, " ")+1:],
		Usage:    cmd.usage,
		Category: cmd.heading,
		Flags:    flagsOf(append(slices.Clip(own), everywhere...)),
		HideHelp: true,

		Subcommands: parts,
		OnUsageError: func(_ *cli.Context, err error, _ bool) error {
			*name = cmd.name
			return flagError(err, append(slices.Clip(own), everywhere...))
		},
		Action: func(c *cli.Context) error {
			*name = cmd.name
			if global.Help {
				_, err := io.WriteString(s.out, cmd.help(settings, own))
				return err
			}
			if cmd.parts != nil {
				return cmd.noPart(c.Args().First())
			}
			session, err := cmd.session(s, c, global, everywhere, settings, own)
			if err != nil {
				return err
			}
			c.Context = dataset.WithBases(secret.With(c.Context, s.secrets), global.Bases)
			err = errors.Join(cmd.do(c.Context, session, settings), session.close())
			if n := s.secrets.Replaced(); n > 0 {
				session.logger().Warn("secrets were redacted from what this command wrote; check which program or service repeats them", "values", n)
			}
			return err
		},
	}
}

// session applies flags, --set, the environment and the config file to the
// settings, and returns the session with them.
func (cmd command) session(s *streams, c *cli.Context, global *globals, everywhere []*option, settings plugin.Settings, own []*option) (*session, error) {
	if err := cmd.checkArgs(c.Args().Slice()); err != nil {
		return nil, err
	}
	if err := cmd.assignArgs(c.Args().Slice(), own); err != nil {
		return nil, err
	}
	config, err := readConfig(s, global)
	if err != nil {
		return nil, err
	}
	if err := config.apply("", everywhere); err != nil {
		return nil, err
	}
	if err := config.apply(cmd.configSection(), own); err != nil {
		return nil, err
	}
	if err := checkChosen(own); err != nil {
		return nil, err
	}
	if err := s.setGlobals(global); err != nil {
		return nil, err
	}
	if err := s.checkVariables(); err != nil {
		return nil, err
	}
	if err := s.resolveSecrets(settings, own); err != nil {
		return nil, err
	}
	return &session{streams: s, command: cmd.name, config: config, options: own, args: c.Args().Slice()}, nil
}

func (cmd command) configSection() string {
	if cmd.section != "" {
		return cmd.section
	}
	name, _, _ := strings.Cut(cmd.name, " ")
	return name
}

func (cmd command) checkArgs(args []string) error {
	most := len(strings.Fields(cmd.args))
	if len(args) <= most {
		return nil
	}
	advice := "datasets are flags: --in, --out"
	if most > 0 {
		advice = "write " + cmd.synopsis()
	}
	if most == 0 && optionNamed(cmd.options(), "in") != nil && len(args) == 1 {
		advice += "; did you mean --in " + args[0] + "?"
	}
	switch {
	case strings.HasPrefix(args[len(args)-1], "-") && most == 0:
		advice = "this command takes no arguments; remove it so that the flags after it are read"
	}
	return usage(advice, "unexpected argument %q", args[most])
}

// appAction runs when the parser found no command: the command line is empty,
// asks for help, or names an unknown command.
func appAction(s *streams, c *cli.Context, global *globals) error {
	args := c.Args().Slice()
	switch {
	case len(args) > 0 && args[0] == "help":
		return help(s, args[1:])
	case len(args) > 0:
		return usage(plugin.Nearest(args[0], commandNames(), firstStep), "there is no command %q", args[0])
	case global.Help:
		return help(s, nil)
	}
	return usage(firstStep, "no command was given")
}

func commandNames() []string {
	var names []string
	for _, cmd := range commands() {
		names = append(names, cmd.name)
	}
	return names
}
