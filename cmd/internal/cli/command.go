package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/stages/plugin"
)

// Command is one command: its help, its settings and its function.
type Command struct {
	Name     string
	Heading  string // of the list of commands; "" to name it at the end of help
	Usage    string // one lower-case phrase
	Required string // what a run must give, for help: flags, or a config file; "" for nothing
	// paragraphs for help and the page; --help has the first, and the first example, a line that begins with two blanks
	About       string
	Args        string   // its arguments, as help shows them; "" for none
	ArgSettings []string // settings that take the arguments, in order; nil when the command reads them itself
	Folders     bool     // its argument may be a folder of several runs or datasets
	Section     string   // of the config file whose keys it has; "" for its own
	Scans       bool     // it reads whole datasets outside the stages: the bytes that it moves are its progress
	Body

	Parts []Command // subcommands, each with a full name such as "job list", in the place of a Body
}

// Body is a command's settings and its function; see [With].
type Body struct {
	Settings func() plugin.Settings // returns them at their defaults
	do       func(ctx context.Context, s *Session, o plugin.Settings) error
}

// With returns a body with typed settings. fresh returns them at their defaults; do gets them
// after flags, --set, the environment and the config file were applied.
func With[S plugin.Settings](fresh func() S, do func(context.Context, *Session, S) error) Body {
	return Body{
		Settings: func() plugin.Settings { return fresh() },
		do:       func(ctx context.Context, s *Session, o plugin.Settings) error { return do(ctx, s, o.(S)) },
	}
}

// fresh returns the command's settings at their defaults, and their options.
func (cmd Command) fresh() (plugin.Settings, []*option) {
	if cmd.Settings == nil {
		return nil, nil
	}
	settings := cmd.Settings()
	return settings, optionsOf(plugin.Declared(settings))
}

// options returns the command's own options, at their defaults.
func (cmd Command) options() []*option {
	_, options := cmd.fresh()
	return options
}

func (cmd Command) configSection() string {
	name, _, _ := strings.Cut(cmd.Name, " ")
	return cmp.Or(cmd.Section, name)
}

// runnable returns the commands and their subcommands.
func (a *App) runnable() []Command {
	var out []Command
	for _, cmd := range a.Commands {
		out = append(append(out, cmd), cmd.Parts...)
	}
	return out
}

// partNames returns the names of the subcommands, without the command's.
func (cmd Command) partNames() []string {
	return each(cmd.Parts, func(p Command) string { return strings.TrimPrefix(p.Name, cmd.Name+" ") })
}

// subcommand returns the first argument if it names a subcommand.
func (cmd Command) subcommand(args []string) []string {
	if len(args) > 0 && slices.Contains(cmd.partNames(), args[0]) {
		return args[:1]
	}
	return nil
}

// noPart returns the error for a missing or unknown subcommand.
func (cmd Command) noPart(args []string) error {
	names := cmd.partNames()
	advice := "run `" + strings.TrimSpace("rollmill "+cmd.Parts[0].Name+" "+cmd.Parts[0].Args) + "`"
	if len(args) == 0 || args[0] == "" {
		return Usagef(advice, "%s: no subcommand; choose one of %s", cmd.Name, strings.Join(names, ", "))
	}
	return Usagef(plugin.Nearest(args[0], names, advice), "%s: there is no subcommand %q; it has %s", cmd.Name, args[0],
		strings.Join(names, ", "))
}
