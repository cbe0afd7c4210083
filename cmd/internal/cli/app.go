package cli

import (
	"context"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/rollmill/rollmill/cmd/internal/terminal"
	"github.com/rollmill/rollmill/stages/plugin"
)

// App is the program: its commands, and what they share.
type App struct {
	Usage    string // one lower-case phrase
	DataFlow string // one line: how data moves through the commands
	Version  string // what --version prints
	Commands []Command
	Guides   fs.FS  // pages written by hand, NAME.md each, that help prints
	Schemas  fs.FS  // JSON schemas of messages, NAME.json each, that help prints
	Licences string // what `help licences` prints

	// flags that may be set at the top level of the config file, for every command that has them, and whose variable may omit the command
	Shared    []string
	Overlay   Overlay
	Variables []string // environment variables that belong to no flag and are not unknown
	Keys      []string // environment variables that hold keys and belong to no setting

	begun atomic.Bool          // the command has its settings
	all   map[string][]*option // what schema returns
}

// Overlay is a section of the config file that belongs to no one command. It has
// the keys of every command with a switch of its name, and overrides the command's
// own section when the switch is on.
type Overlay struct {
	Name     string
	Settings func() plugin.Settings // keys that only this section has
}

const firstStep = "see `rollmill --help`"

// Run runs a command line, whose first word is the program's name, and returns the
// exit code. It reports an error on the streams.
func (a *App) Run(ctx context.Context, args []string, streams terminal.Streams) int {
	l := &commandLine{app: a, Console: terminal.New(streams, a.knownSecrets(streams.Lookup), a.InWordsOf),
		global: newGlobals()}
	l.everywhere = optionsOf(plugin.Declared(l.global))
	err := l.parser().RunContext(ctx, a.argsLast(args))
	code := exitCode(ctx, err)
	if err != nil && ctx.Err() != nil && strings.Contains(err.Error(), context.Canceled.Error()) {
		err = context.Cause(ctx) // says which signal it was
	}
	if err != nil {
		l.Fail(l.command, code, err)
	}
	return code
}

func (a *App) commandNames() []string {
	return each(a.Commands, func(cmd Command) string { return cmd.Name })
}

// headed returns the commands by heading, and the headings in order, without "".
func (a *App) headed() (order []string, in map[string][]Command) {
	order, in = grouped(a.Commands, func(cmd Command) string { return cmd.Heading })
	return slices.DeleteFunc(order, func(heading string) bool { return heading == "" }), in
}

// Schema returns the settings of each section of the config file, in order. The
// flags that every command has are in section "".
func (a *App) Schema() map[string][]*plugin.Setting {
	out := map[string][]*plugin.Setting{}
	for section, options := range a.schema() {
		out[section] = declared(options)
	}
	return out
}
