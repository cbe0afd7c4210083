package cli

import (
	"slices"
	"strconv"
	"strings"
)

// argsLast moves a command's arguments after its flags, where the parser expects
// them, so that `explain ID --json` is `explain --json ID`. Everything after "--"
// is an argument. If help is asked for, it drops the arguments.
func (a *App) argsLast(args []string) []string {
	at := commandAt(args)
	if at < 0 {
		return args
	}
	i := slices.IndexFunc(a.Commands, func(c Command) bool { return c.Name == args[at] })
	if i < 0 || a.Commands[i].Args == "" && a.Commands[i].Parts == nil {
		return args
	}
	cmd := a.Commands[i]
	known := append(cmd.options(), globalOptions()...)
	for _, p := range cmd.Parts {
		known = append(known, p.options()...)
	}
	var flags, words []string
	help := false
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
			help = true
		default:
			flags = append(flags, arg)
			o := optionNamed(known, name)
			if o == nil || o.IsBoolFlag() {
				break
			}
			if len(rest) == 0 { // the value is missing, which the parser says
				return slices.Concat(args[:at+1], cmd.subcommand(words), flags)
			}
			flags, rest = append(flags, rest[0]), rest[1:]
		}
	}
	sub := cmd.subcommand(words)
	moved := slices.Concat(args[:at+1], sub, flags)
	if help {
		return append(moved, "--help")
	}
	return slices.Concat(moved, []string{"--"}, words[len(sub):])
}

// commandAt returns the index of the command in args, or -1.
func commandAt(args []string) int {
	for i := 1; i < len(args); i++ {
		if !strings.HasPrefix(args[i], "-") {
			return i
		}
		if o := optionNamed(globalOptions(), strings.TrimLeft(args[i], "-")); o != nil && !o.IsBoolFlag() {
			i++
		}
	}
	return -1
}

// assignArgs assigns the arguments to their settings. It refuses more than the command takes.
func (cmd Command) assignArgs(words []string, own []*option) error {
	if limit := len(strings.Fields(cmd.Args)); len(words) > limit {
		return Usagef(cmd.extraHint(words, limit, own), "unexpected argument %q", words[limit])
	}
	for i, name := range cmd.ArgSettings[:min(len(words), len(cmd.ArgSettings))] {
		o := optionNamed(own, name)
		if o.given {
			return Usagef("give it once: "+cmd.synopsis(), "both --%s and the argument %q are given", name, words[i])
		}
		if err := o.Set(words[i]); err != nil {
			return o.refused("argument "+strconv.Itoa(i+1), words[i], err)
		}
	}
	return nil
}
