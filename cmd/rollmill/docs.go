package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/plugin"
)

// page returns a command's page under doc/, in Markdown.
func (cmd command) page() string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- Generated from the flags: `make docs` rewrites it. -->\n\n# rollmill %s\n\n%s.\n\n```\n%s\n```\n\n", cmd.name, cmd.usage, cmd.synopsis())
	b.WriteString(markdown(cmd.about))
	if cmd.parts != nil {
		b.WriteString("\n## Subcommands\n\n")
		for _, p := range cmd.parts {
			fmt.Fprintf(&b, "- [%s](%s.md): %s\n", p.name, commandPage(p.name), p.usage)
		}
	}
	settings, options := cmd.fresh()
	writeTables(&b, cmd.configSection(), ownSettings(declared(options)))
	writeSorts(&b, sortsOf(settings))
	b.WriteString("\nFlags that every command has, and the exit codes: [rollmill](rollmill.md).\n")
	return b.String()
}

// writeSorts writes a section for each kind of plug-in, with links to their pages.
func writeSorts(b *strings.Builder, sorts []*pluginSort) {
	for _, of := range sorts {
		fmt.Fprintf(b, "\n## %ss\n\n", of.title())
		for _, p := range of.plugins {
			fmt.Fprintf(b, "- [%s](%s.md): %s\n", p.Name, pluginPage(of.name, p.Name), p.Help)
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

func writeTables(b *strings.Builder, section string, settings []*plugin.Setting) {
	order, in := byHeading(settings)
	for _, heading := range order {
		fmt.Fprintf(b, "\n## %s\n\n| flag | | environment | config key |\n|---|---|---|---|\n", heading)
		for _, s := range in[heading] {
			env, key := "`"+variable(section, s.Name)+"`", "`"+strings.TrimPrefix(section+"."+s.Name, ".")+"`"
			if slices.Contains(shared, s.Name) {
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

// commandPage returns the name of a command's page, without its extension.
func commandPage(name string) string { return strings.ReplaceAll(name, " ", "-") }

// pluginPage returns the name of a plug-in's page, without its extension.
func pluginPage(sort, name string) string { return sort + "-" + strings.ReplaceAll(name, "_", "-") }

// page returns a plug-in's page under doc/.
func (of *pluginSort) page(p *plugin.Owner) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- Generated from the settings: `make docs` rewrites it. -->\n\n# %s %s\n\n%s.\n", of.name, p.Name, strings.ToUpper(p.Help[:1])+p.Help[1:])
	if len(p.Settings) == 0 {
		b.WriteString("\nIt has no settings of its own.\n")
	}
	if p.Spec != "" {
		fmt.Fprintf(&b, "\n```\n%s\n```\n", p.Spec)
		writeKeys(&b, p.Settings)
	} else {
		writeTables(&b, of.section, p.Settings)
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

// columnsPage returns doc/columns.md.
func columnsPage() string {
	return "<!-- Generated from package formats: `make docs` rewrites it. -->\n\n" + formats.ColumnsMarkdown()
}

// indexPage returns doc/rollmill.md.
func indexPage() string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- Generated from the flags: `make docs` rewrites it. -->\n\n# rollmill\n\n%s.\n\n```\n%s\n```\n", synopsis, dataFlow)
	for _, heading := range []string{stagesHeading, commandsHeading} {
		fmt.Fprintf(&b, "\n## %s\n\n", heading)
		for _, cmd := range commands() {
			if cmd.heading == heading {
				fmt.Fprintf(&b, "- [%s](%s.md): %s\n", cmd.name, cmd.name, cmd.usage)
			}
		}
	}
	writeTables(&b, "", declared(globalOptions()))
	b.WriteString("\n## Settings\n\n" + settingsText + "\n## Exit codes\n\n| code | |\n|---|---|\n")
	for _, e := range exitCodes {
		fmt.Fprintf(&b, "| %d | %s |\n", e.code, e.meaning)
	}
	return b.String()
}

const settingsText = `A flag takes precedence over ` + "`--set section.key=value`" + `, then come the environment, the config file and the default.
The config file is YAML, with a section for each command and the names of flags as keys. Unknown keys are errors.

- ` + "`${NAME}`" + ` in a value is replaced by the environment variable, ` + "`${NAME:-default}`" + ` has a default, and ` + "`$${`" + ` is a literal ` + "`${`" + `.
- A repeatable flag takes a list; one that takes ` + "`KEY=VALUE`" + ` may be written as a mapping. Its environment variable
  holds one value per line.
- ` + "`run` and `root`" + ` may be set at the top level of the file, for every command that has them.
- The section ` + "`validation`" + ` overrides the command's own section when ` + "`--validation`" + ` is given.
- A key without a value is treated as absent. Paths are relative to the working directory.
`
