package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/stages"
)

// The headings of --help.
const (
	theLine   = "The line, in the order of the data"
	aroundIt  = "Around it"
	synopsis  = "turn an agent's runs into training data, one epoch at a time"
	dataFlow  = "examples -> rollout -> score -> group -> curate -> submit -> trainer"
	firstStep = "see `rollmill --help`"
)

// command is one subcommand: what help says, its flags, its plain function.
type command struct {
	name    string
	heading string // theLine or aroundIt
	usage   string // one lower-case phrase
	about   string // paragraphs for --help and the page
	words   string // the arguments it takes, as help shows them; "" for none
	section string // of the config whose keys it has; "" for its own
	flags   func() []cli.Flag
	run     func(ctx context.Context, s *session) error
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
	flags   *cli.Context // of this command, config and environment already applied
	config  *settings
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
	app := &cli.App{
		Name:                      "rollmill",
		Usage:                     synopsis,
		Version:                   version(),
		Writer:                    s.out,
		ErrWriter:                 io.Discard, // errors are told once, by run
		Flags:                     globalFlags(),
		CustomAppHelpTemplate:     escapeTemplate(appHelp()),
		HideHelpCommand:           true,
		DisableSliceFlagSeparator: true,
		ExitErrHandler:            func(*cli.Context, error) {},
		OnUsageError:              func(_ *cli.Context, err error, _ bool) error { return flagError(err, globalFlags()) },
		Action: func(c *cli.Context) error {
			return appAction(s, c)
		},
	}
	for _, cmd := range commands() {
		app.Commands = append(app.Commands, cmd.build(s, name))
	}
	return app
}

func (cmd command) build(s *streams, name *string) *cli.Command {
	return &cli.Command{
		Name:               cmd.name,
		Usage:              cmd.usage,
		Category:           cmd.heading,
		Flags:              append(cmd.flags(), globalFlags()...),
		CustomHelpTemplate: escapeTemplate(cmd.help()),
		HideHelpCommand:    true,
		OnUsageError: func(_ *cli.Context, err error, _ bool) error {
			*name = cmd.name
			return flagError(err, append(cmd.flags(), globalFlags()...))
		},
		Action: func(c *cli.Context) error {
			*name = cmd.name
			session, err := cmd.session(s, c)
			if err != nil {
				return err
			}
			c.Context = dataset.WithBases(secret.With(c.Context, s.secrets), session.flags.StringSlice("base"))
			err = errors.Join(cmd.run(c.Context, session), session.close())
			if n := s.secrets.Replaced(); n > 0 {
				session.logger().Warn("secrets of this process stood in what it wrote, and were redacted; who repeats them?", "values", n)
			}
			return err
		},
	}
}

// session reads what decides a run: flags, --set, environment, config file.
func (cmd command) session(s *streams, c *cli.Context) (*session, error) {
	if err := cmd.checkWords(c.Args().Slice()); err != nil {
		return nil, err
	}
	if err := inheritGlobals(c); err != nil {
		return nil, err
	}
	config, err := readConfig(s, c)
	if err != nil {
		return nil, err
	}
	if err := config.apply(c, "", globalFlags()); err != nil {
		return nil, err
	}
	if err := config.apply(c, cmd.configSection(), cmd.flags()); err != nil {
		return nil, err
	}
	if err := s.setGlobals(c); err != nil {
		return nil, err
	}
	if err := s.checkVariables(); err != nil {
		return nil, err
	}
	if err := s.secretFlags(c, cmd.flags()); err != nil {
		return nil, err
	}
	return &session{streams: s, command: cmd.name, flags: c, config: config, words: c.Args().Slice()}, nil
}

func (cmd command) configSection() string {
	if cmd.section != "" {
		return cmd.section
	}
	return cmd.name
}

func (cmd command) checkWords(words []string) error {
	most := len(strings.Fields(cmd.words))
	if len(words) <= most {
		return nil
	}
	advice := "datasets are flags: --in, --out"
	if most == 0 && flagNamed(cmd.flags(), "in") != nil && len(words) == 1 {
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
func appAction(s *streams, c *cli.Context) error {
	words := c.Args().Slice()
	if len(words) == 0 {
		return usage(firstStep, "no command")
	}
	if words[0] != "help" {
		return usage(nearest(words[0], commandNames(), firstStep), "there is no command %q", words[0])
	}
	if len(words) == 1 {
		return cli.ShowAppHelp(c)
	}
	for _, cmd := range commands() {
		if cmd.name == words[1] {
			_, err := io.WriteString(s.out, cmd.help())
			return err
		}
	}
	return usage(nearest(words[1], commandNames(), firstStep), "there is no command %q", words[1])
}

func commandNames() []string {
	var names []string
	for _, cmd := range commands() {
		names = append(names, cmd.name)
	}
	return names
}

// version is the module's, or the revision it was built from.
func version() string {
	v := "(unknown)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		v = info.Main.Version
	}
	return fmt.Sprintf("%s, dataset schema %s", v, formats.SchemaVersion)
}
