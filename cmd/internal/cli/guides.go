package cli

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/stages/plugin"
)

// firstGuides are those to begin with, the first one last.
var firstGuides = []string{"concepts", "quick-start"}

// guideNames returns the names of the guides: those of their files without the
// extension, first the ones to begin with.
func (a *App) guideNames() []string {
	names := namesIn(a.Guides, ".md")
	slices.SortStableFunc(names, func(a, b string) int { return slices.Index(firstGuides, b) - slices.Index(firstGuides, a) })
	return names
}

// namesIn returns the names of files, in order and without their extension.
func namesIn(files fs.FS, extension string) []string {
	names, _ := fs.Glob(files, "*"+extension) // the only error is that of a bad pattern
	for i, name := range names {
		names[i] = strings.TrimSuffix(name, extension)
	}
	return names
}

// guide returns the text of a guide, or "" when no guide has this name.
func (a *App) guide(name string) string {
	text, _ := fs.ReadFile(a.Guides, name+".md")
	return string(text)
}

// guideList returns what `rollmill help guides` prints: the name and the first
// sentence of each guide.
func (a *App) guideList() string {
	var b strings.Builder
	b.WriteString("Guides (rollmill help GUIDE prints one):\n")
	for _, name := range a.guideNames() {
		fmt.Fprintf(&b, "  %-20s  %s\n", name, firstSentence(a.guide(name)))
	}
	return b.String()
}

func guideTitle(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimPrefix(line, "# ")
}

// firstSentence returns the first sentence of a Markdown text, after headings and
// comments, without links.
func firstSentence(text string) string {
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		paragraph = strings.Join(strings.Fields(paragraph), " ")
		if paragraph == "" || strings.HasPrefix(paragraph, "#") || strings.HasPrefix(paragraph, "<!--") {
			continue
		}
		paragraph = relativeLink.ReplaceAllString(paragraph, "$1")
		if sentence, _, more := strings.Cut(paragraph, ". "); more {
			return sentence + "."
		}
		return paragraph
	}
	return ""
}

// schemaList returns what `rollmill help schemas` prints: the name and the title of each schema.
func (a *App) schemaList() string {
	var b strings.Builder
	b.WriteString("JSON schemas of the config, and of the messages of programs (rollmill help schema NAME prints one):\n")
	for _, name := range a.schemaNames() {
		var schema struct{ Title string }
		text, _ := a.schemaText(name)
		_ = json.Unmarshal([]byte(text), &schema) // a schema without a title is still listed
		fmt.Fprintf(&b, "  %-16s  %s\n", name, schema.Title)
	}
	return b.String()
}

func (a *App) schemaNames() []string {
	return append([]string{configName}, namesIn(a.Schemas, ".json")...)
}

func (a *App) schemaText(name string) (string, error) {
	if name == configName {
		return a.ConfigSchema(), nil
	}
	text, err := fs.ReadFile(a.Schemas, name+".json")
	if err != nil {
		names := a.schemaNames()
		return "", Usagef(plugin.Nearest(name, names, "schemas are "+strings.Join(names, ", ")),
			"there is no schema %q", name)
	}
	return string(text), nil
}
