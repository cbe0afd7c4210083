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

// command is one subcommand: what help says, its flags, its plain function.
type command struct {
	name    string
	heading string   // stagesHeading or commandsHeading
	usage   string   // one lower-case phrase
	about   string   // paragraphs for --help and the page
	words   string   // the arguments it takes, as help shows them; "" for none
	gives   []string // settings that the words are given to, in order; nil when the command reads words itself
	section string   // of the config whose keys it has; "" for its own
	body

	parts []command // subcommands, each with a full name such as "storage check"; such a command does nothing itself
}

// body is what a command does with its settings.
type body struct {
	settings func() plugin.Settings // at their defaults
	do       func(ctx context.Context, s *session, o plugin.Settings) error
}

// with makes a command's body of its settings and its function.
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

// options are the command's own, at their defaults.
func (cmd command) options() []*option {
	_, options := cmd.fresh()
	return options
}

// commands is the list, in the order of the data.
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
	words   []string
	opened  []io.Closer // for as long as the command runs
}

// close ends what the command opened.
func (s *session) close() (err error) {
	for _, c := range s.opened {
		err = errors.Join(err, c.Close())
	}
	return err
}

// given reports whether the command line, the environment or the configuration
// says a setting.
func (s *session) given(name string) bool {
	o := optionNamed(s.options, name)
	return o != nil && o.texts != nil
}

// stageEnv is what the process gives a stage.
func (s *session) stageEnv() stages.Env {
	return stages.Env{Log: s.logger(), Progress: s.meter}
}

// run is the whole program. It returns the exit code.
func run(ctx context.Context, s *streams, args []string) int {
	name := ""
	err := newApp(s, &name).RunContext(ctx, wordsLast(args))
	code := exitCode(ctx, err)
	if err != nil {
		s.fail(name, code, err)
	}
	return code
}

func newApp(s *streams, name *string) *cli.App {
	global := newGlobals()
	everywhere := optionsOf(plugin.Declared(global)) // shared, so that they may stand before the command or after it
	app := &cli.App{
		Name:                      "rollmill",
		Usage:                     synopsis,
		Version:                   version(),
		Writer:                    s.out,
		ErrWriter:                 io.Discard, // errors are told once, by run
		Flags:                     flagsOf(everywhere),
		HideHelp:                  true, // --help is a setting of ours, so that it can show the plug-ins chosen
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
				session.logger().Warn("secrets of this process stood in what it wrote, and were redacted; who repeats them?", "values", n)
			}
			return err
		},
	}
}

// session reads what decides a run: flags, --set, environment, config file.
func (cmd command) session(s *streams, c *cli.Context, global *globals, everywhere []*option, settings plugin.Settings, own []*option) (*session, error) {
	if err := cmd.checkWords(c.Args().Slice()); err != nil {
		return nil, err
	}
	if err := cmd.giveWords(c.Args().Slice(), own); err != nil {
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
	if err := strangers(own); err != nil {
		return nil, err
	}
	if err := s.setGlobals(global); err != nil {
		return nil, err
	}
	if err := s.checkVariables(); err != nil {
		return nil, err
	}
	if err := s.settle(settings, own); err != nil {
		return nil, err
	}
	return &session{streams: s, command: cmd.name, config: config, options: own, words: c.Args().Slice()}, nil
}

func (cmd command) configSection() string {
	if cmd.section != "" {
		return cmd.section
	}
	name, _, _ := strings.Cut(cmd.name, " ")
	return name
}

func (cmd command) checkWords(words []string) error {
	most := len(strings.Fields(cmd.words))
	if len(words) <= most {
		return nil
	}
	advice := "datasets are flags: --in, --out"
	if most > 0 {
		advice = "write " + cmd.synopsis()
	}
	if most == 0 && optionNamed(cmd.options(), "in") != nil && len(words) == 1 {
		advice += "; did you mean --in " + words[0] + "?"
	}
	switch {
	case strings.HasPrefix(words[len(words)-1], "-") && most == 0:
		advice = "flags come before words, and this command takes no words"
	}
	return usage(advice, "unexpected argument %q", words[most])
}

// appAction runs when no command was found: nothing was asked for, help was,
// or the name is wrong.
func appAction(s *streams, c *cli.Context, global *globals) error {
	words := c.Args().Slice()
	switch {
	case len(words) > 0 && words[0] == "help":
		return help(s, words[1:])
	case len(words) > 0:
		return usage(plugin.Nearest(words[0], commandNames(), firstStep), "there is no command %q", words[0])
	case global.Help:
		return help(s, nil)
	}
	return usage(firstStep, "no command")
}

func commandNames() []string {
	var names []string
	for _, cmd := range commands() {
		names = append(names, cmd.name)
	}
	return names
}
