package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/stages/plugin"
)

// Pages returns the pages of the program, its commands and their plug-ins in
// Markdown, by file name.
func (a *App) Pages() map[string]string {
	pages := map[string]string{"rollmill.md": a.indexPage()}
	for _, cmd := range a.runnable() {
		pages[commandFile(cmd.Name)+".md"] = a.commandPage(cmd)
	}
	for _, sort := range a.pluginSorts() {
		for _, p := range sort.plugins {
			pages[pluginFile(sort.name, p.Name)+".md"] = a.pluginPage(sort, p)
		}
	}
	return pages
}

// commandPage returns a command's page, in Markdown.
func (a *App) commandPage(cmd Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- Generated from the flags: `make docs` rewrites it. -->\n\n# rollmill %s\n\n%s.\n\n```\n%s\n```\n\n", cmd.Name, cmd.Usage, cmd.synopsis())
	b.WriteString(markdown(cmd.About))
	if cmd.Parts != nil {
		b.WriteString("\n## Subcommands\n\n")
		for _, p := range cmd.Parts {
			fmt.Fprintf(&b, "- [%s](%s.md): %s\n", p.Name, commandFile(p.Name), p.Usage)
		}
	}
	settings, options := cmd.fresh()
	a.writeTables(&b, cmd.configSection(), ownSettings(declared(options)))
	writeSorts(&b, sortsOf(settings))
	b.WriteString("\nFlags that every command has, and the exit codes: [rollmill](rollmill.md).\n")
	return b.String()
}

// writeSorts writes a section for each kind of plug-in, with links to their pages.
func writeSorts(b *strings.Builder, sorts []*pluginSort) {
	for _, of := range sorts {
		fmt.Fprintf(b, "\n## %ss\n\n", of.title())
		for _, p := range of.plugins {
			fmt.Fprintf(b, "- [%s](%s.md): %s\n", p.Name, pluginFile(of.name, p.Name), p.Help)
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

func (a *App) writeTables(b *strings.Builder, section string, settings []*plugin.Setting) {
	order, in := byHeading(settings)
	for _, heading := range order {
		fmt.Fprintf(b, "\n## %s\n\n| flag | | environment | config key |\n|---|---|---|---|\n", heading)
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
			fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", form(s), strings.ReplaceAll(s.Phrase()+notes(s), "|", "\\|"), env, key)
		}
	}
}

// commandFile returns the name of a command's page, without its extension.
func commandFile(name string) string { return strings.ReplaceAll(name, " ", "-") }

// pluginFile returns the name of a plug-in's page, without its extension.
func pluginFile(sort, name string) string { return sort + "-" + strings.ReplaceAll(name, "_", "-") }

// pluginPage returns a plug-in's page.
func (a *App) pluginPage(of *pluginSort, p *plugin.Owner) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- Generated from the settings: `make docs` rewrites it. -->\n\n# %s %s\n\n%s.\n", of.name, p.Name, strings.ToUpper(p.Help[:1])+p.Help[1:])
	if p.About != "" {
		fmt.Fprintf(&b, "\n```\n%s```\n", p.About)
	}
	if len(p.Settings) == 0 {
		b.WriteString("\nIt has no settings of its own.\n")
	}
	if p.Spec != "" {
		fmt.Fprintf(&b, "\n```\n%s\n```\n", p.Spec)
		writeKeys(&b, p.Settings)
	} else {
		a.writeTables(&b, of.section, p.Settings)
	}
	writeSorts(&b, sorted(p.Plugins))
	return b.String()
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
	fmt.Fprintf(&b, "<!-- Generated from the flags: `make docs` rewrites it. -->\n\n# rollmill\n\n%s.\n\n```\n%s\n```\n", a.Usage, a.DataFlow)
	for _, heading := range a.headings() {
		fmt.Fprintf(&b, "\n## %s\n\n", heading)
		for _, cmd := range a.Commands {
			if cmd.Heading == heading {
				fmt.Fprintf(&b, "- [%s](%s.md): %s\n", cmd.Name, cmd.Name, cmd.Usage)
			}
		}
	}
	if a.Guides != nil {
		b.WriteString("\n## Guides\n\n")
		for _, name := range a.guideNames() {
			fmt.Fprintf(&b, "- [%s](guides/%s.md): %s\n", guideTitle(a.guide(name)), name, firstSentence(a.guide(name)))
		}
	}
	a.writeTables(&b, "", declared(globalOptions()))
	fmt.Fprintf(&b, "\n## Settings\n\n"+settingsText+"\n## Exit codes\n\n| code | |\n|---|---|\n", strings.Join(a.Shared, "`, `"), a.Overlay.Name)
	for _, e := range exitCodes {
		fmt.Fprintf(&b, "| %d | %s |\n", e.code, e.meaning)
	}
	return b.String()
}

// settingsText takes the shared keys and the name of the overlay.
const settingsText = `A flag takes precedence over ` + "`--set section.key=value`" + `, then come the environment, the config file and the default.
The config file is YAML, with a section for each command and the names of flags as keys. Unknown keys are errors.

- ` + "`${NAME}`" + ` in a value is replaced by the environment variable, ` + "`${NAME:-default}`" + ` has a default, and ` + "`$${`" + ` is a literal ` + "`${`" + `.
- A repeatable flag takes a list; one that takes ` + "`KEY=VALUE`" + ` may be written as a mapping. Its environment variable
  holds one value per line.
- These may be set at the top level of the file: ` + "`%s`" + `, for every command that has them.
- The section ` + "`%[2]s`" + ` overrides the command's own section when ` + "`--%[2]s`" + ` is given.
- A key without a value is treated as absent. Paths are relative to the working directory.
`
