package cli

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// guideSource is the folder of the guides in the project's repository.
const guideSource = "github.com/rollmill/rollmill/blob/HEAD/cmd/rollmill/doc/guides"

var (
	relativeLink = regexp.MustCompile(`\[([^\]]+)\]\(([^):]+)\)`)
	commentLine  = regexp.MustCompile(`(?m)^<!--.*-->\n\n?`)
)

// onTerminal returns a guide's text for a reader who has only the program: without
// comments, and with the command or the address that shows what a link leads to.
func (a *App) onTerminal(text string) string {
	pages := a.helpOf()
	text = commentLine.ReplaceAllString(text, "")
	parts := strings.Split(text, "\n```") // every other one is a fenced block
	for i := 0; i < len(parts); i += 2 {
		parts[i] = relativeLink.ReplaceAllStringFunc(parts[i], func(link string) string {
			m := relativeLink.FindStringSubmatch(link)
			file, _, _ := strings.Cut(m[2], "#")
			if words, ok := pages[m[2]]; ok { // a section of a page
				return fmt.Sprintf("%s (`rollmill help %s`)", m[1], words)
			} else if words, ok := pages[file]; ok {
				return fmt.Sprintf("%s (`rollmill help %s`)", m[1], words)
			} else if file == "" {
				return m[1] // of the same guide
			}
			return fmt.Sprintf("%s (https://%s)", m[1], path.Join(guideSource, file))
		})
	}
	return strings.Join(parts, "\n```")
}

// helpOf returns the words after `rollmill help` that show a page, by the page's
// path from the guides.
func (a *App) helpOf() map[string]string {
	out := map[string]string{"../schemas": "schemas"}
	for _, name := range a.guideNames() {
		out[name+".md"] = name
	}
	for _, cmd := range a.runnable() {
		out["../"+commandLink(cmd.Name)] = cmd.Name
	}
	for _, sort := range a.pluginSorts() {
		for _, p := range sort.plugins {
			out["../"+sort.page()+"#"+anchor(p.Name)] = sort.name + " " + p.Name
		}
	}
	return out
}
