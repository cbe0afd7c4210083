package main

import (
	"slices"
	"strings"
)

// wordsLast moves a command's words behind its flags, where the parser looks
// for them, so that `explain ID --json` is `explain --json ID`. What follows
// "--" stays words; a request for help needs none.
func wordsLast(args []string) []string {
	at := commandAt(args)
	if at < 0 {
		return args
	}
	i := slices.IndexFunc(commands(), func(c command) bool { return c.name == args[at] })
	if i < 0 || commands()[i].words == "" {
		return args
	}
	known := append(commands()[i].flags(), globalFlags()...)
	var flags, words []string
	for rest := args[at+1:]; len(rest) > 0; {
		arg := rest[0]
		rest = rest[1:]
		name := strings.TrimLeft(arg, "-")
		switch {
		case arg == "--":
			words, rest = append(words, rest...), nil
		case arg == "-" || !strings.HasPrefix(arg, "-"):
			words = append(words, arg)
		case name == "help" || name == "h":
			return append(slices.Clone(args[:at+1]), "--help")
		default:
			flags = append(flags, arg)
			if f := flagNamed(known, name); f != nil && describe(f).takesValue && len(rest) > 0 {
				flags, rest = append(flags, rest[0]), rest[1:]
			}
		}
	}
	moved := append(slices.Clone(args[:at+1]), flags...)
	return append(append(moved, "--"), words...)
}

// commandAt is the place of the command among the arguments, or -1.
func commandAt(args []string) int {
	for i := 1; i < len(args); i++ {
		if !strings.HasPrefix(args[i], "-") {
			return i
		}
		if f := flagNamed(globalFlags(), strings.TrimLeft(args[i], "-")); f != nil && describe(f).takesValue {
			i++
		}
	}
	return -1
}
