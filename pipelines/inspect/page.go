package inspect

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/rollmill/rollmill/formats/plural"
)

// page is a view that is laid out: as text, or as Markdown. Texts of models and
// programs are indented or fenced, so they cannot imitate a heading; whoever prints
// it makes their control characters visible.
type page struct {
	w        io.Writer
	markdown bool
	full     bool // long texts are not cut
}

// field writes one fact.
func (p *page) field(name, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	switch {
	case p.markdown && name == "": // more of the one before
		fmt.Fprintf(p.w, "  - %s\n", span(text))
		return
	case p.markdown:
		fmt.Fprintf(p.w, "- **%s** %s\n", name, span(text))
		return
	}
	fmt.Fprintf(p.w, "%-10s %s\n", name, text)
}

// heading begins a part at a depth of the tree.
func (p *page) heading(depth int, title, notes string) {
	if p.markdown {
		fmt.Fprintf(p.w, "\n%s %s\n", strings.Repeat("#", min(6, 3+depth)), escaped(title))
		if notes != "" {
			fmt.Fprintf(p.w, "\n%s\n", escaped(notes))
		}
		return
	}
	fmt.Fprintf(p.w, "\n%s%s", strings.Repeat(indent, depth), title)
	if notes != "" {
		fmt.Fprintf(p.w, "  (%s)", notes)
	}
	fmt.Fprintln(p.w)
}

const indent = "    "

// block writes a text of several lines under a heading. The label may be empty, as
// the language is for text.
func (p *page) block(depth int, label, language, text string) {
	text = strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	text, note := cut(text, p.full)
	if p.markdown {
		fence := fence(text, 3)
		if label != "" {
			fmt.Fprintf(p.w, "\n%s\n", escaped(label))
		}
		fmt.Fprintf(p.w, "\n%s%s\n%s\n%s\n", fence, language, text, fence)
		if note != "" {
			fmt.Fprintf(p.w, "\n*%s*\n", note)
		}
		return
	}
	margin := strings.Repeat(indent, depth+1)
	if label != "" {
		fmt.Fprintf(p.w, "%s%s\n", margin, label)
		margin += "| "
	}
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintf(p.w, "%s\n", strings.TrimRight(margin+line, " "))
	}
	if note != "" {
		fmt.Fprintf(p.w, "%s[%s]\n", margin, note)
	}
}

// table writes rows of cells, each on one line.
func (p *page) table(head []string, rows [][]string) error {
	fmt.Fprintln(p.w)
	if p.markdown {
		fmt.Fprintf(p.w, "| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
		for _, row := range rows {
			cells := make([]string, len(row))
			for i, c := range row {
				cells[i] = strings.ReplaceAll(span(c), "|", `\|`)
			}
			fmt.Fprintf(p.w, "| %s |\n", strings.Join(cells, " | "))
		}
		return nil
	}
	out := tabwriter.NewWriter(p.w, 0, 0, 2, ' ', 0)
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

// cut shortens a long text. The note tells its length, and is empty for a text that
// was not cut.
func cut(text string, full bool) (shown, note string) {
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

// span returns a text of one line as Markdown that shows it as it is.
func span(text string) string {
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
