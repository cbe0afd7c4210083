package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/cmd/internal/terminal"
	"github.com/rollmill/rollmill/stages/plugin"
)

// shownDefault returns a setting's default as help shows it, or "" for none.
func shownDefault(s *plugin.Setting) string {
	if s.Default != "" || s.Repeats || s.Type == plugin.Switch {
		return s.Default
	}
	if v := s.Initial(); v != nil {
		return fmt.Sprint(v)
	}
	return ""
}

// notes returns the text in parentheses after a flag's phrase.
func notes(s *plugin.Setting) string {
	var notes []string
	if d := shownDefault(s); d != "" && d != "0" && d != "0s" && d != "[]" && s.Type != plugin.Switch {
		notes = append(notes, "default: "+d)
	}
	if s.Repeats {
		notes = append(notes, "repeatable")
	}
	if len(notes) == 0 {
		return ""
	}
	return " (" + strings.Join(notes, "; ") + ")"
}

// form returns a flag, or the key of a spec, as a user types it.
func form(s *plugin.Setting) string {
	if s.Owner != nil && s.Owner.Spec != "" {
		return s.SpecForm()
	}
	return strings.TrimSpace("--" + s.Name + " " + s.Placeholder())
}

// byHeading groups settings by heading, in the order of the first setting of each.
func byHeading(settings []*plugin.Setting) (order []string, in map[string][]*plugin.Setting) {
	return grouped(settings, func(s *plugin.Setting) string { return cmp.Or(s.Heading, "Options") })
}

// grouped groups a list by a text of each element, in the order of the first of each.
func grouped[T any](list []T, by func(T) string) (order []string, in map[string][]T) {
	in = map[string][]T{}
	for _, x := range list {
		if in[by(x)] == nil {
			order = append(order, by(x))
		}
		in[by(x)] = append(in[by(x)], x)
	}
	return order, in
}

// each returns what a function makes of each element of a list.
func each[T, V any](list []T, f func(T) V) []V {
	out := make([]V, len(list))
	for i, x := range list {
		out[i] = f(x)
	}
	return out
}

// brief returns what `rollmill COMMAND --help` prints: what the command is for, what
// it requires, an example, the flags that most runs set and those of the plug-ins
// that the command line chose, then the names of the others.
func (cmd Command) brief(settings plugin.Settings, options []*option) string {
	var b strings.Builder
	cmd.Begin(&b)
	all := declared(options)
	sorts, chosen := sortsOf(settings), false
	for _, kind := range sorts {
		if p := kind.named(options); p != nil {
			chosen = true
			kind.flags(&b, p)
		}
	}
	if !chosen {
		fmt.Fprintf(&b, "\n%s\n", cmd.purpose())
		cmd.listParts(&b)
	}
	own := ownSettings(all)
	shown := commonSettings(all, len(own) <= maxBrief)
	writeFlagsUnder(&b, "Common flags", shown)
	if !chosen {
		for _, kind := range sorts {
			kind.listBriefly(&b)
		}
	}
	writeNames(&b, "More flags", slices.DeleteFunc(own, func(s *plugin.Setting) bool { return slices.Contains(shown, s) }))
	fmt.Fprintf(&b, "\nEvery flag: `rollmill help %s`. Global flags and exit codes: `rollmill --help`.\n", cmd.Name)
	return b.String()
}

// maxBrief is the number of a command's own flags up to which --help describes all.
const maxBrief = 12

// commonSettings returns the settings that --help describes: those that are marked,
// also of plug-ins that are chosen by default, and with all the command's own.
func commonSettings(list []*plugin.Setting, all bool) []*plugin.Setting {
	return slices.DeleteFunc(slices.Clone(list), func(s *plugin.Setting) bool {
		return !(s.Owner == nil && all || s.Frequent && s.Owner.Chosen())
	})
}

// Begin writes the first lines of a command's help.
func (cmd Command) Begin(b *strings.Builder) {
	fmt.Fprintf(b, "rollmill %s - %s\n\nUsage: %s\n", cmd.Name, cmd.Usage, cmd.synopsis())
	if cmd.Required != "" {
		terminal.WriteWrapped(b, "Required: ", cmd.Required)
	}
}

// purpose returns the first paragraph of About and its first example.
func (cmd Command) purpose() string {
	text, rest, _ := strings.Cut(strings.TrimSpace(cmd.About), "\n\n")
	for line := range strings.Lines(rest) {
		if strings.HasPrefix(line, "  rollmill ") {
			return text + "\n\n" + strings.TrimRight(line, "\n")
		}
	}
	return text
}

func (cmd Command) listParts(b *strings.Builder) {
	if cmd.Parts == nil {
		return
	}
	b.WriteString("\nSubcommands:\n")
	for _, p := range cmd.Parts {
		fmt.Fprintf(b, "  %-12s  %s\n", p.Name, p.Usage)
	}
}

// full returns what `rollmill help COMMAND` prints: everything, with a line for each plug-in.
func (cmd Command) full(settings plugin.Settings, options []*option) string {
	var b strings.Builder
	cmd.Begin(&b)
	fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(cmd.About))
	cmd.listParts(&b)
	writeFlags(&b, ownSettings(declared(options)))
	for _, kind := range sortsOf(settings) {
		kind.list(&b)
	}
	writeFlags(&b, declared(globalOptions()))
	if len(options) > 0 {
		fmt.Fprintf(&b, "\nEvery flag has an environment variable, such as %s, and a key in section %q of the config file.\n",
			variable(cmd.configSection(), options[0].Name), cmd.configSection())
	}
	fmt.Fprintf(&b, "\nExit codes:\n%s", exitHelp())
	return b.String()
}

// help prints help on a command, on a plug-in, or on the whole program, or a guide.
func (a *App) help(s *terminal.Console, args []string) error {
	text, err := a.helpOn(args)
	if err == nil {
		_, err = io.WriteString(s.Out, text)
	}
	return err
}

// helpOn returns what `rollmill help` prints with arguments.
func (a *App) helpOn(args []string) (string, error) {
	name := strings.Join(args, " ")
	for _, cmd := range a.runnable() {
		if cmd.Name == name {
			return cmd.full(cmd.fresh()), nil
		}
	}
	switch {
	case len(args) == 0:
		return a.appHelp(), nil
	case name == "guides":
		return a.guideList(), nil
	case name == "licences":
		return a.Licences, nil
	case name == "schemas", name == "schema":
		return a.schemaList(), nil
	case len(args) == 2 && args[0] == "schema":
		return a.schemaText(args[1])
	case len(args) == 2:
		return a.pluginHelp(args[0], args[1])
	case len(args) > 2:
		return "", Usagef("write `rollmill help COMMAND` or `rollmill help KIND NAME`, such as `rollmill help backend art`",
			"unexpected argument %q", args[2])
	}
	text := a.guide(name)
	if text == "" {
		if plugins, err := a.pluginHelp(strings.TrimSuffix(name, "s"), ""); err == nil {
			return plugins, nil
		}
		names := slices.Concat(a.commandNames(), a.guideNames(), []string{"guides"})
		return "", Usagef(plugin.Nearest(name, names, firstStep),
			"there is no command %q, and no guide of that name", name)
	}
	return a.onTerminal(text), nil
}

func (cmd Command) synopsis() string {
	if cmd.Parts != nil {
		return fmt.Sprintf("rollmill %s %s [flags]", cmd.Name, strings.Join(cmd.partNames(), "|"))
	}
	return strings.TrimSpace(fmt.Sprintf("rollmill %s [flags] %s", cmd.Name, cmd.Args))
}

// declared returns the settings of the options.
func declared(options []*option) []*plugin.Setting {
	var out []*plugin.Setting
	for _, o := range options {
		out = append(out, o.all...)
	}
	return out
}

// writeFlags writes a line for each setting, under its heading.
func writeFlags(b *strings.Builder, settings []*plugin.Setting) {
	order, in := byHeading(settings)
	for _, heading := range order {
		writeFlagsUnder(b, heading, in[heading])
	}
}

func writeFlagsUnder(b *strings.Builder, heading string, settings []*plugin.Setting) {
	if len(settings) == 0 {
		return
	}
	terminal.WriteRows(b, heading, each(settings, func(s *plugin.Setting) [2]string {
		return [2]string{form(s),
			s.Phrase() + notes(s)}
	}))
}

// writeNames writes the names of flags, a line for each heading.
func writeNames(b *strings.Builder, title string, settings []*plugin.Setting) {
	if len(settings) == 0 {
		return
	}
	order, in := byHeading(settings)
	fmt.Fprintf(b, "\n%s:\n", title)
	for _, heading := range order {
		names := each(in[heading], func(s *plugin.Setting) string { return "--" + s.Name })
		short, _, _ := strings.Cut(heading, " (")
		terminal.WriteWrapped(b, "  "+short+": ", strings.Join(names, ", "))
	}
}

// appHelp returns what `rollmill --help` prints.
func (a *App) appHelp() string {
	var b strings.Builder
	fmt.Fprintf(&b, "rollmill - %s\n  %s\n\nUsage: rollmill [global flags] COMMAND [flags]\n", a.Usage, a.DataFlow)
	b.WriteString("\nCommands:\n")
	headings, commands := a.headed()
	for _, label := range headings {
		for _, cmd := range commands[label] {
			fmt.Fprintf(&b, "  %-8s %-8s  %s\n", label, cmd.Name, cmd.Usage)
			label = ""
		}
	}
	writeFlags(&b, declared(globalOptions()))
	b.WriteString("\nstdout has only the URI of the dataset that was written. Settings: flag, --set, environment, config file, default.\n")
	b.WriteString("Help on a command (`rollmill help COMMAND`), a plug-in (`rollmill help backend art`), guides, schemas, licences.\n")
	for _, cmd := range commands[""] {
		fmt.Fprintf(&b, "`rollmill %s %s`: %s.\n", cmd.Name, cmd.Args, cmd.Usage)
	}
	fmt.Fprintf(&b, "\nExit codes:\n%s", exitHelp())
	return b.String()
}
