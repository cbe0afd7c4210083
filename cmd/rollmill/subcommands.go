package main

import (
	"strings"

	"github.com/rollmill/rollmill/stages/plugin"
)

// runnable lists the commands and their subcommands.
func runnable() []command { return runnableOf(commands()) }

func runnableOf(commands []command) []command {
	var out []command
	for _, cmd := range commands {
		out = append(append(out, cmd), cmd.parts...)
	}
	return out
}

// part returns the subcommand of a word.
func (cmd command) part(word string) (command, bool) {
	for _, p := range cmd.parts {
		if p.name == cmd.name+" "+word {
			return p, true
		}
	}
	return command{}, false
}

// partNames are the words of the subcommands.
func (cmd command) partNames() []string {
	var names []string
	for _, p := range cmd.parts {
		names = append(names, strings.TrimPrefix(p.name, cmd.name+" "))
	}
	return names
}

// subcommand is the first word when it names a subcommand.
func (cmd command) subcommand(words []string) []string {
	if len(words) > 0 {
		if _, ok := cmd.part(words[0]); ok {
			return words[:1]
		}
	}
	return nil
}

// noPart is the error of a command whose subcommand is missing or unknown.
func (cmd command) noPart(word string) error {
	names := cmd.partNames()
	advice := "say `" + strings.TrimSpace("rollmill "+cmd.parts[0].name+" "+cmd.parts[0].words) + "`"
	if word == "" {
		return usage(advice, "%s: no subcommand; it has %s", cmd.name, strings.Join(names, ", "))
	}
	return usage(plugin.Nearest(word, names, advice), "%s: there is no subcommand %q; it has %s", cmd.name, word, strings.Join(names, ", "))
}
