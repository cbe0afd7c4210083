package cli

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/rollmill/rollmill/stages/plugin"
)

// Pages returns the pages of the program in Markdown, by file name: one of the program, one for
// each command with its subcommands, and one for each kind of plug-in.
func (a *App) Pages() map[string]string {
	pages := map[string]string{"rollmill.md": a.indexPage()}
	for _, cmd := range a.Commands {
		pages[commandLink(cmd.Name)] = a.commandPage(cmd)
	}
	for _, kind := range a.pluginSorts() {
		pages[kind.page()] = a.pluginsPage(kind)
	}
	return pages
}

// commandPage returns the page of a command and its subcommands.
func (a *App) commandPage(cmd Command) string {
	var b strings.Builder
	b.WriteString(generated + "# rollmill " + cmd.Name + "\n\n")
	cmd.introduce(&b)
	if cmd.Parts != nil {
		b.WriteString("\n## Subcommands\n\n")
		for _, p := range cmd.Parts {
			fmt.Fprintf(&b, "- [%s](#%s): %s\n", p.Name, anchor(p.Name), p.Usage)
		}
	}
	b.WriteString(a.settingsOf(cmd, "##"))
	before, same := "", ""
	for _, p := range cmd.Parts {
		fmt.Fprintf(&b, "\n## %s\n\n", p.Name)
		p.introduce(&b)
		text := a.settingsOf(p, "###")
		if text == before {
			text = fmt.Sprintf("\nIts flags are those of [%s](#%s).\n", same, anchor(same))
		} else {
			before, same = text, p.Name
		}
		b.WriteString(text)
	}
	b.WriteString("\nFlags that every command has, and the exit codes: [rollmill](rollmill.md).\n")
	return b.String()
}

// generated is the first line of each page.
const generated = "<!-- Generated from the flags: `make docs` rewrites it. -->\n\n"

// introduce writes what a command is for, without its flags.
func (cmd Command) introduce(b *strings.Builder) {
	fmt.Fprintf(b, "%s.\n\n```\n%s\n```\n\n", cmd.Usage, cmd.synopsis())
	if cmd.Required != "" {
		fmt.Fprintf(b, "Required: %s.\n\n", cmd.Required)
	}
	b.WriteString(markdown(cmd.About))
}

// settingsOf returns the tables of a command's flags and the lists of its plug-ins.
func (a *App) settingsOf(cmd Command, level string) string {
	var b strings.Builder
	settings, options := cmd.fresh()
	a.writeTables(&b, level, cmd.configSection(), ownSettings(declared(options)))
	for _, kind := range sortsOf(settings) {
		fmt.Fprintf(&b, "\n%s %ss\n", level, kind.title())
		kind.links(&b, kind.page())
	}
	return b.String()
}

// links writes a link to each plug-in on a page, under a line for each purpose.
func (kind *pluginSort) links(b *strings.Builder, page string) {
	purposes, in := kind.byPurpose()
	for _, purpose := range purposes {
		b.WriteString("\n")
		if purpose != "" {
			fmt.Fprintf(b, "For %s:\n\n", purpose)
		}
		for _, p := range in[purpose] {
			fmt.Fprintf(b, "- [%s](%s#%s): %s\n", p.Name, page, anchor(p.Name), p.Help)
		}
	}
}

// markdown converts a help text to Markdown: indented lines become code blocks.
func markdown(text string) string {
	var b strings.Builder
	fenced, blank := false, false
	for line := range strings.Lines(strings.TrimRight(text, " \n") + "\n") {
		if line == "\n" {
			blank = true
			continue
		}
		code := strings.HasPrefix(line, "  ")
		if fenced && !code {
			b.WriteString("```\n")
		}
		if blank && b.Len() > 0 {
			b.WriteString("\n")
		}
		if code && !fenced {
			b.WriteString("```\n")
		}
		b.WriteString(strings.TrimPrefix(line, "  "))
		fenced, blank = code, false
	}
	if fenced {
		b.WriteString("```\n")
	}
	return b.String()
}

// writeTables writes a table of settings for each heading. A setting that is no key
// of the section is set on the command line only.
func (a *App) writeTables(b *strings.Builder, level, section string, settings []*plugin.Setting) {
	order, in := byHeading(settings)
	keys := a.schema()[section]
	for _, heading := range order {
		fmt.Fprintf(b, "\n%s %s\n\n| flag | | environment | config key |\n|---|---|---|---|\n", level, heading)
		for _, s := range in[heading] {
			env, key := "`"+variable(section, s.Name)+"`", "`"+strings.TrimPrefix(section+"."+s.Name, ".")+"`"
			if slices.Contains(a.Shared, s.Name) {
				env, key = env+", `"+variable("", s.Name)+"`", key+", `"+s.Name+"`"
			}
			if slices.Contains(notKeys, s.Name) {
				key = ""
			}
			if s.Name == "set" || s.Name == "help" {
				env = ""
			}
			if optionNamed(keys, s.Name) == nil {
				env, key = "", ""
			}
			fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", form(s),
				strings.ReplaceAll(s.Phrase()+notes(s), "|", "\\|"), env, key)
		}
	}
}

// commandLink returns the address of a command's page, or of its section on the page
// of the command that it belongs to.
func commandLink(name string) string {
	first, part, _ := strings.Cut(name, " ")
	if part == "" {
		return first + ".md"
	}
	return first + ".md#" + anchor(name)
}

// page returns the name of the page of a kind of plug-in.
func (kind *pluginSort) page() string { return kind.name + "s.md" }

// anchor returns the address of a heading within its page, as GitHub makes it.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}

// pluginsPage returns the page of the plug-ins of one kind: a list, then a section
// for each.
func (a *App) pluginsPage(kind *pluginSort) string {
	var b strings.Builder
	fmt.Fprintf(&b, generated+"# %ss\n\n`rollmill help %s NAME` prints the section of one of them.\n", kind.title(), kind.name)
	kind.links(&b, "")
	for _, p := range kind.plugins {
		a.writePlugin(&b, kind, p)
	}
	return b.String()
}

func (a *App) writePlugin(b *strings.Builder, kind *pluginSort, p *plugin.Owner) {
	fmt.Fprintf(b, "\n## %s\n\n%s.\n", p.Name, strings.ToUpper(p.Help[:1])+p.Help[1:])
	if p.About != "" {
		fmt.Fprintf(b, "\n```\n%s```\n", p.About)
	}
	if len(p.Settings) == 0 {
		b.WriteString("\nIt has no settings of its own.\n")
	}
	if p.Spec != "" {
		fmt.Fprintf(b, "\n```\n%s\n```\n", p.Spec)
		writeKeys(b, p.Settings)
	} else {
		a.writeTables(b, "###", kind.section, p.Settings)
	}
	for _, inner := range sorted(p.Plugins) {
		fmt.Fprintf(b, "\n### %ss\n", inner.title())
		inner.links(b, inner.page())
	}
}

// writeKeys is writeTables for settings that are keys of a spec.
func writeKeys(b *strings.Builder, settings []*plugin.Setting) {
	b.WriteString("\n| key | |\n|---|---|\n")
	for _, s := range settings {
		fmt.Fprintf(b, "| `%s` | %s |\n", form(s), strings.ReplaceAll(s.Phrase()+notes(s), "|", "\\|"))
	}
}

// indexPage returns the page of the program.
func (a *App) indexPage() string {
	var b strings.Builder
	fmt.Fprintf(&b, generated+"# rollmill\n\n%s.\n\n```\n%s\n```\n", a.Usage, a.DataFlow)
	headings, commands := a.headed()
	for _, heading := range headings {
		fmt.Fprintf(&b, "\n## %s\n\n", heading)
		for _, cmd := range commands[heading] {
			fmt.Fprintf(&b, "- [%s](%s): %s\n", cmd.Name, commandLink(cmd.Name), cmd.Usage)
		}
	}
	for _, cmd := range commands[""] {
		fmt.Fprintf(&b, "\n[%s](%s): %s.\n", cmd.Name, commandLink(cmd.Name), cmd.Usage)
	}
	b.WriteString("\n## Plug-ins\n\n")
	for _, kind := range a.pluginSorts() {
		fmt.Fprintf(&b, "- [%ss](%s)\n", kind.title(), kind.page())
	}
	b.WriteString("\n## Guides\n\n")
	for _, name := range a.guideNames() {
		fmt.Fprintf(&b, "- [%s](guides/%s.md): %s\n", guideTitle(a.guide(name)), name, firstSentence(a.guide(name)))
	}
	a.writeTables(&b, "##", "", declared(globalOptions()))
	fmt.Fprintf(&b, "\n## Settings\n\n"+settingsText+"\n## Exit codes\n\n| code | |\n|---|---|\n",
		strings.Join(a.Shared, "`, `"), a.Overlay.Name)
	for _, e := range exitCodes {
		fmt.Fprintf(&b, "| %d | %s |\n", e.code, e.meaning)
	}
	return b.String()
}

// settingsText takes the shared keys and the name of the overlay.
const settingsText = `A flag takes precedence over ` + "`--set section.key=value`" + `, then come the environment, the config file and the default.
The config file is YAML, with a section for each command and the names of flags as keys. Unknown keys are errors.

- ` + "`${NAME}`" + ` in a value is replaced by the environment variable, ` + "`${NAME:-default}`" + ` has a default,
  and ` + "`$${`" + ` is a literal ` + "`${`" + `.
- A repeatable flag takes a list; one that takes ` + "`KEY=VALUE`" + ` may be written as a mapping. Its environment variable
  holds one value per line.
- These may be set at the top level of the file: ` + "`%s`" + `, for every command that has them.
- The section ` + "`%[2]s`" + ` overrides the command's own section when ` + "`--%[2]s`" + ` is given.
- A key without a value is treated as absent, with a warning. Paths are relative to the working directory.
- Anchors, aliases and merge keys (` + "`<<: *NAME`" + `) work.
`
