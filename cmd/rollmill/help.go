package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/urfave/cli/v2"
)

// flagText is a flag as help, the pages and completion show it.
type flagText struct {
	name, placeholder, usage, fallback, category string
	takesValue, repeats                          bool
}

var quotedWord = regexp.MustCompile("`([^`]+)`")

func describe(f cli.Flag) flagText {
	doc := f.(cli.DocGenerationFlag)
	t := flagText{name: f.Names()[0], usage: doc.GetUsage(), takesValue: doc.TakesValue()}
	if c, ok := f.(cli.CategorizableFlag); ok {
		t.category = c.GetCategory()
	}
	if s, ok := f.(cli.DocGenerationSliceFlag); ok {
		t.repeats = s.IsSliceFlag()
	}
	if t.takesValue {
		t.placeholder = "VALUE"
		if m := quotedWord.FindStringSubmatch(t.usage); m != nil {
			t.placeholder = m[1]
		}
		t.fallback = strings.Trim(doc.GetDefaultText(), `"`)
	}
	t.usage = quotedWord.ReplaceAllString(t.usage, "$1")
	return t
}

// notes are what follows a flag's usage in parentheses.
func (t flagText) notes() string {
	var notes []string
	if t.fallback != "" && t.fallback != "0" && t.fallback != "0s" {
		notes = append(notes, "default: "+t.fallback)
	}
	if t.repeats {
		notes = append(notes, "may be repeated")
	}
	if len(notes) == 0 {
		return ""
	}
	return " (" + strings.Join(notes, "; ") + ")"
}

func (t flagText) form() string {
	if !t.takesValue {
		return "--" + t.name
	}
	return "--" + t.name + " " + t.placeholder
}

// byCategory keeps the order of the first flag of each category.
func byCategory(flags []cli.Flag) (order []string, in map[string][]flagText) {
	in = map[string][]flagText{}
	for _, f := range flags {
		t := describe(f)
		if t.category == "" {
			t.category = "Options"
		}
		if in[t.category] == nil {
			order = append(order, t.category)
		}
		in[t.category] = append(in[t.category], t)
	}
	return order, in
}

// help is what `rollmill COMMAND --help` prints.
func (cmd command) help() string {
	var b strings.Builder
	fmt.Fprintf(&b, "rollmill %s - %s\n\nUsage: %s\n\n%s\n", cmd.name, cmd.usage, cmd.synopsis(), strings.TrimSpace(cmd.about))
	writeFlags(&b, append(cmd.flags(), globalFlags()...))
	if cmd.flags() != nil {
		fmt.Fprintf(&b, "\nEvery flag has an environment variable, as %s, and a key in the config file, in section %q.\n",
			variable(cmd.configSection(), describe(cmd.flags()[0]).name), cmd.configSection())
	}
	fmt.Fprintf(&b, "\nExit codes:\n%s", exitHelp())
	return b.String()
}

func (cmd command) synopsis() string {
	return strings.TrimSpace(fmt.Sprintf("rollmill %s [flags] %s", cmd.name, cmd.words))
}

func writeFlags(b *strings.Builder, flags []cli.Flag) {
	order, in := byCategory(flags)
	for _, category := range order {
		fmt.Fprintf(b, "\n%s:\n", category)
		width := 0
		for _, t := range in[category] {
			width = max(width, min(len(t.form()), 32))
		}
		for _, t := range in[category] {
			fmt.Fprintf(b, "  %-*s  %s%s\n", width, t.form(), t.usage, t.notes())
		}
	}
}

// appHelp is what `rollmill --help` prints.
func appHelp() string {
	var b strings.Builder
	fmt.Fprintf(&b, "rollmill - %s\n\n  %s\n\nUsage: rollmill [global flags] COMMAND [flags]\n", synopsis, dataFlow)
	for _, heading := range []string{theLine, aroundIt} {
		fmt.Fprintf(&b, "\n%s:\n", heading)
		for _, cmd := range commands() {
			if cmd.heading == heading {
				fmt.Fprintf(&b, "  %-12s  %s\n", cmd.name, cmd.usage)
			}
		}
	}
	writeFlags(&b, globalFlags())
	fmt.Fprintf(&b, "\nstdout carries the result, the URI of the dataset written; stderr the rest.\n")
	fmt.Fprintf(&b, "A flag beats --set, which beats the environment, the config file and the default.\n")
	fmt.Fprintf(&b, "\nExit codes:\n%s", exitHelp())
	return b.String()
}

// escapeTemplate makes text a template of itself.
func escapeTemplate(text string) string { return strings.ReplaceAll(text, "{{", `{{"{{"}}`) }
