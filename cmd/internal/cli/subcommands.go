package cli

import (
	"slices"
	"strings"

	"github.com/rollmill/rollmill/stages/plugin"
)

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
