package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rollmill/rollmill/stages/plugin"
)

// shownDefault returns a setting's default as help shows it, or "" for none.
func shownDefault(s *plugin.Setting) string {
	if s.Default != "" || s.Repeats || s.Type == plugin.Switch {
		return s.Default
	}
	switch v := s.Initial().(type) {
	case nil:
		return ""
	case time.Duration:
		return v.String()
	default:
		return fmt.Sprint(v)
	}
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
	in = map[string][]*plugin.Setting{}
	for _, s := range settings {
		heading := s.Heading
		if heading == "" {
			heading = "Options"
		}
		if in[heading] == nil {
			order = append(order, heading)
		}
		in[heading] = append(in[heading], s)
	}
	return order, in
}

// help returns what `rollmill COMMAND --help` prints: the command's own flags and
// a line for each plug-in. When the command line chose a plug-in by name, it
// returns the flags of that plug-in, and the names of the command's own.
func (cmd Command) help(settings plugin.Settings, options []*option) string {
	var b strings.Builder
	fmt.Fprintf(&b, "rollmill %s - %s\n\nUsage: %s\n", cmd.Name, cmd.Usage, cmd.synopsis())
	sorts := sortsOf(settings)
	if slices.ContainsFunc(sorts, func(of *pluginSort) bool { return of.named(options) != nil }) {
		for _, of := range sorts {
			if p := of.named(options); p != nil {
				of.flags(&b, p)
			}
		}
		writeNames(&b, ownSettings(declared(options)))
		fmt.Fprintf(&b, "\n`rollmill help %s` describes these, the global flags and the exit codes.\n", cmd.Name)
		return b.String()
	}
	fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(cmd.About))
	if cmd.Parts != nil {
		b.WriteString("\nSubcommands:\n")
		for _, p := range cmd.Parts {
			fmt.Fprintf(&b, "  %-12s  %s\n", p.Name, p.Usage)
		}
	}
	writeFlags(&b, ownSettings(declared(options)))
	for _, of := range sorts {
		of.list(&b)
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
func (a *App) help(s *console, args []string) error {
	text := ""
	for _, cmd := range a.runnable() {
		if cmd.Name == strings.Join(args, " ") {
			text = cmd.help(cmd.fresh())
		}
	}
	switch {
	case text != "":
	case len(args) == 0:
		text = a.appHelp()
	case len(args) == 1 && args[0] == "guides":
		text = a.guideList()
	case len(args) == 1 && args[0] == "licences" && a.Licences != "":
		text = a.Licences
	case len(args) == 1 && args[0] == "schemas" && a.Schemas != nil:
		text = a.schemaList()
	case len(args) == 1:
		if text = a.guide(args[0]); text == "" {
			names := slices.Concat(a.commandNames(), a.guideNames(), []string{"guides"})
			return Usagef(plugin.Nearest(args[0], names, firstStep), "there is no command %q, and no guide of that name", args[0])
		}
		text = a.onTerminal(text)
	case len(args) == 2 && args[0] == "schema" && a.Schemas != nil:
		var err error
		if text, err = a.schemaText(args[1]); err != nil {
			return err
		}
	case len(args) == 2:
		var err error
		if text, err = a.pluginHelp(args[0], args[1]); err != nil {
			return err
		}
	default:
		return Usagef("write `rollmill help COMMAND` or `rollmill help KIND NAME`, such as `rollmill help backend art`", "unexpected argument %q", args[2])
	}
	_, err := io.WriteString(s.Out, text)
	return err
}

func (cmd Command) synopsis() string {
	if cmd.Parts != nil && cmd.do != nil {
		return fmt.Sprintf("rollmill %s [%s] [flags]", cmd.Name, strings.Join(cmd.partNames(), "|"))
	} else if cmd.Parts != nil {
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

func writeFlags(b *strings.Builder, settings []*plugin.Setting) {
	order, in := byHeading(settings)
	for _, heading := range order {
		fmt.Fprintf(b, "\n%s:\n", heading)
		width := 0
		for _, s := range in[heading] {
			width = max(width, min(len(form(s)), 32))
		}
		for _, s := range in[heading] {
			fmt.Fprintf(b, "  %-*s  %s%s\n", width, form(s), s.Phrase(), notes(s))
		}
	}
}

// writeNames writes a line of flags for each heading.
func writeNames(b *strings.Builder, settings []*plugin.Setting) {
	order, in := byHeading(settings)
	b.WriteString("\n")
	for _, heading := range order {
		var names []string
		for _, s := range in[heading] {
			names = append(names, "--"+s.Name)
		}
		fmt.Fprintf(b, "%s: %s\n", heading, strings.Join(names, ", "))
	}
}

// appHelp returns what `rollmill --help` prints.
func (a *App) appHelp() string {
	var b strings.Builder
	fmt.Fprintf(&b, "rollmill - %s\n\n  %s\n\nUsage: rollmill [global flags] COMMAND [flags]\n", a.Usage, a.DataFlow)
	for _, heading := range a.headings() {
		fmt.Fprintf(&b, "\n%s:\n", heading)
		for _, cmd := range a.Commands {
			if cmd.Heading == heading {
				fmt.Fprintf(&b, "  %-12s  %s\n", cmd.Name, cmd.Usage)
			}
		}
	}
	writeFlags(&b, declared(globalOptions()))
	fmt.Fprintf(&b, "\nstdout has only the result, the URI of the dataset that was written; messages go to stderr.\n")
	fmt.Fprintf(&b, "Precedence: flag, --set, environment, config file, default.\n")
	if a.Guides != nil {
		fmt.Fprintf(&b, "Guides: `rollmill help guides` lists them, `rollmill help GUIDE` prints one.\n")
	}
	if a.Licences != "" {
		fmt.Fprintf(&b, "Licences: `rollmill help licences` prints those of the program and of what it contains.\n")
	}
	fmt.Fprintf(&b, "\nExit codes:\n%s", exitHelp())
	return b.String()
}
