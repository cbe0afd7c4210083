package main

import (
	"strings"

	"github.com/rollmill/rollmill/stages/plugin"
)

// runnable returns the commands and their subcommands.
func runnable() []command { return runnableOf(commands()) }

func runnableOf(commands []command) []command {
	var out []command
	for _, cmd := range commands {
		out = append(append(out, cmd), cmd.parts...)
	}
	return out
}

// part returns the subcommand with this name.
func (cmd command) part(word string) (command, bool) {
	for _, p := range cmd.parts {
		if p.name == cmd.name+" "+word {
			return p, true
		}
	}
	return command{}, false
}

// partNames returns the names of the subcommands, without the command's.
func (cmd command) partNames() []string {
	var names []string
	for _, p := range cmd.parts {
		names = append(names, strings.TrimPrefix(p.name, cmd.name+" "))
	}
	return names
}

// subcommand returns the first argument if it names a subcommand.
func (cmd command) subcommand(args []string) []string {
	if len(args) > 0 {
		if _, ok := cmd.part(args[0]); ok {
			return args[:1]
		}
	}
	return nil
}

// noPart returns the error for a missing or unknown subcommand.
func (cmd command) noPart(word string) error {
	names := cmd.partNames()
	advice := "run `" + strings.TrimSpace("rollmill "+cmd.parts[0].name+" "+cmd.parts[0].args) + "`"
	if word == "" {
		return usage(advice, "%s: no subcommand; choose one of %s", cmd.name, strings.Join(names, ", "))
	}
	return usage(plugin.Nearest(word, names, advice), "%s: there is no subcommand %q; it has %s", cmd.name, word, strings.Join(names, ", "))
}
