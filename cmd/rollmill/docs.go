package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rollmill/rollmill/formats"
)

// page is a command's page under doc/, in Markdown.
func (cmd command) page() string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- Generated from the flags: `make docs` rewrites it. -->\n\n# rollmill %s\n\n%s.\n\n```\n%s\n```\n\n", cmd.name, cmd.usage, cmd.synopsis())
	b.WriteString(markdown(cmd.about))
	writeTables(&b, cmd.configSection(), cmd.flags())
	b.WriteString("\nFlags that every command has, and the exit codes: [rollmill](rollmill.md).\n")
	return b.String()
}

// markdown fences the indented lines of a text.
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

func writeTables(b *strings.Builder, section string, flags []cli.Flag) {
	order, in := byCategory(flags)
	for _, category := range order {
		fmt.Fprintf(b, "\n## %s\n\n| flag | | environment | config key |\n|---|---|---|---|\n", category)
		for _, t := range in[category] {
			env, key := "`"+variable(section, t.name)+"`", "`"+strings.TrimPrefix(section+"."+t.name, ".")+"`"
			if slices.Contains(shared, t.name) {
				env, key = env+", `"+variable("", t.name)+"`", key+", `"+t.name+"`"
			}
			if slices.Contains(notKeys, t.name) {
				key = ""
			}
			if t.name == "set" {
				env = ""
			}
			fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", t.form(), strings.ReplaceAll(t.usage+t.notes(), "|", "\\|"), env, key)
		}
	}
}

// columnsPage is doc/columns.md.
func columnsPage() string {
	return "<!-- Generated from package formats: `make docs` rewrites it. -->\n\n" + formats.ColumnsMarkdown()
}

// indexPage is doc/rollmill.md.
func indexPage() string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- Generated from the flags: `make docs` rewrites it. -->\n\n# rollmill\n\n%s.\n\n```\n%s\n```\n", synopsis, dataFlow)
	for _, heading := range []string{theLine, aroundIt} {
		fmt.Fprintf(&b, "\n## %s\n\n", heading)
		for _, cmd := range commands() {
			if cmd.heading == heading {
				fmt.Fprintf(&b, "- [%s](%s.md): %s\n", cmd.name, cmd.name, cmd.usage)
			}
		}
	}
	writeTables(&b, "", globalFlags())
	b.WriteString("\n## Settings\n\n" + settingsText + "\n## Exit codes\n\n| code | |\n|---|---|\n")
	for _, e := range exitCodes {
		fmt.Fprintf(&b, "| %d | %s |\n", e.code, e.meaning)
	}
	return b.String()
}

const settingsText = `A flag beats ` + "`--set section.key=value`" + `, which beats the environment, which beats the config file, which
beats the default. The config file is YAML, a section per command and the flags' names as keys. Unknown keys are errors.

- ` + "`${NAME}`" + ` in a value is the environment variable, ` + "`${NAME:-otherwise}`" + ` has a default, and ` + "`$${`" + ` stands for itself.
- A flag that may be repeated takes a list; one that takes ` + "`KEY=VALUE`" + ` may be written as a mapping. In the environment it
  takes a value a line.
- ` + "`run` and `root`" + ` may stand at the top of the file, for every command that has them.
- The section ` + "`validation`" + ` comes before the command's own when ` + "`--validation`" + ` is given.
- A key without a value counts as not there. Paths are relative to where rollmill is run.
`
