package text

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/rollmill/rollmill/formats/plural"
)

// Layout writes what a command shows: as text, or as Markdown. Texts of models and
// programs are indented or fenced, so they cannot imitate a heading; whoever prints
// it makes their control characters visible.
type Layout struct {
	W        io.Writer
	Markdown bool
	Full     bool // long texts are not cut
}

// Field writes one fact.
func (p *Layout) Field(name, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	switch {
	case p.Markdown && name == "": // more of the one before
		fmt.Fprintf(p.W, "  - %s\n", Span(text))
		return
	case p.Markdown:
		fmt.Fprintf(p.W, "- **%s** %s\n", name, Span(text))
		return
	}
	fmt.Fprintf(p.W, "%-10s %s\n", name, text)
}

// Heading begins a part at a depth of the tree.
func (p *Layout) Heading(depth int, title, notes string) {
	if p.Markdown {
		fmt.Fprintf(p.W, "\n%s %s\n", strings.Repeat("#", min(6, 3+depth)), escaped(title))
		if notes != "" {
			fmt.Fprintf(p.W, "\n%s\n", escaped(notes))
		}
		return
	}
	fmt.Fprintf(p.W, "\n%s%s", strings.Repeat(indent, depth), title)
	if notes != "" {
		fmt.Fprintf(p.W, "  (%s)", notes)
	}
	fmt.Fprintln(p.W)
}

const indent = "    "

// Block writes a text of several lines under a heading. The label may be empty, as
// the language is for text.
func (p *Layout) Block(depth int, label, language, text string) {
	text = strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	text, note := shown(text, p.Full)
	if p.Markdown {
		fence := fence(text, 3)
		if label != "" {
			fmt.Fprintf(p.W, "\n%s\n", escaped(label))
		}
		fmt.Fprintf(p.W, "\n%s%s\n%s\n%s\n", fence, language, text, fence)
		if note != "" {
			fmt.Fprintf(p.W, "\n*%s*\n", note)
		}
		return
	}
	margin := strings.Repeat(indent, depth+1)
	if label != "" {
		fmt.Fprintf(p.W, "%s%s\n", margin, label)
		margin += "| "
	}
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintf(p.W, "%s\n", strings.TrimRight(margin+line, " "))
	}
	if note != "" {
		fmt.Fprintf(p.W, "%s[%s]\n", margin, note)
	}
}

// Table writes rows of cells, each on one line.
func (p *Layout) Table(head []string, rows [][]string) error {
	fmt.Fprintln(p.W)
	if p.Markdown {
		fmt.Fprintf(p.W, "| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
		for _, row := range rows {
			cells := make([]string, len(row))
			for i, c := range row {
				cells[i] = strings.ReplaceAll(Span(c), "|", `\|`)
			}
			fmt.Fprintf(p.W, "| %s |\n", strings.Join(cells, " | "))
		}
		return nil
	}
	out := tabwriter.NewWriter(p.W, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, strings.Join(head, "\t"))
	for _, row := range rows {
		fmt.Fprintln(out, strings.Join(row, "\t"))
	}
	return out.Flush()
}

// The length of a text that is printed without --full.
const (
	maxShown      = 2000 // characters
	maxShownLines = 40
)

// shown shortens a long text. The note tells its length, and is empty for a text that
// was not cut.
func shown(text string, full bool) (beginning, note string) {
	if full {
		return text, ""
	}
	lines, n, end := 1, 0, len(text)
	for at, r := range text {
		if n++; n > maxShown || lines > maxShownLines {
			end = at
			break
		}
		if r == '\n' {
			lines++
		}
	}
	if end == len(text) {
		return text, ""
	}
	return strings.TrimRight(text[:end], "\n"), fmt.Sprintf("… cut: %s in %s; --full prints all",
		plural.Of(utf8.RuneCountInString(text), "character"), plural.Of(1+strings.Count(text, "\n"), "line"))
}

// Span returns a text of one line as Markdown that shows it as it is.
func Span(text string) string {
	if text == "" {
		return ""
	}
	fence := fence(text, 1)
	if strings.Contains(text, "`") {
		return fence + " " + text + " " + fence
	}
	return fence + text + fence
}

// escaped returns a text of one line without meaning in Markdown and HTML.
func escaped(text string) string {
	return strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;",
		"&", "&amp;", "#", `\#`, "|", `\|`, "!", `\!`, "~", `\~`).Replace(text)
}

// fence returns at least so many backticks, more than a text has in a row.
func fence(text string, least int) string {
	out := strings.Repeat("`", least)
	for strings.Contains(text, out) {
		out += "`"
	}
	return out
}
