package validate

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/rollmill/rollmill/formats/excerpt"
	"github.com/rollmill/rollmill/formats/plural"
)

const width = 100

// WriteText writes the report as text for people, at most 100 columns wide.
func (r Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s in %s, %s\n", plural.Of(r.Rows, "row"), plural.Of(r.Groups, "group"), plural.Of(r.FileCount, "file"))
	if r.Rows > 0 {
		b.WriteString("\n" + r.uses())
	}
	for _, f := range r.Findings {
		b.WriteByte('\n')
		f.write(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteSummary writes what the rows can be used for, and names the findings.
func (r Report) WriteSummary(w io.Writer) error {
	var names []string
	for _, f := range r.Findings {
		names = append(names, f.Name+" "+strconv.FormatInt(f.Count, 10))
	}
	var b strings.Builder
	if r.Rows > 0 {
		b.WriteString(r.uses())
	}
	if len(names) > 0 {
		paragraph(&b, "findings: "+strings.Join(names, ", "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r Report) uses() string {
	table, blocked := [][2]string{{"use", "possible for"}}, [][]string{{"blocked by (rows)"}}
	var widths [2]int
	for _, u := range r.Uses {
		var words []string
		for i, because := range u.Because {
			words = append(words, fmt.Sprintf("%s %d", because.Finding, because.Rows))
			if i < len(u.Because)-1 {
				words[i] += ","
			}
		}
		table, blocked = append(table, [2]string{u.Use, u.possible()}), append(blocked, words)
	}
	for _, cells := range table {
		widths = [2]int{max(widths[0], len(cells[0])), max(widths[1], len(cells[1]))}
	}
	var b strings.Builder
	for i, cells := range table {
		before := fmt.Sprintf("%-*s  %-*s  ", widths[0], cells[0], widths[1], cells[1])
		for _, text := range excerpt.Wrap(blocked[i], width-len(before), width-len(before)) {
			b.WriteString(strings.TrimRight(before+text, " ") + "\n")
			before = strings.Repeat(" ", len(before))
		}
	}
	return b.String()
}

func (u useCount) possible() string {
	switch u.Verdict {
	case possible:
		return "all rows"
	case impossible:
		return "no row"
	}
	return fmt.Sprintf("%d of %d rows", u.Possible, u.Of)
}

func (f limit) write(b *strings.Builder) {
	fmt.Fprintf(b, "%s: %s (%s)\n", f.Name, plural.Of(f.Count, strings.TrimSuffix(f.Of, "s")), f.Severity)
	paragraph(b, f.What)
	if len(f.Blocks) > 0 {
		paragraph(b, "blocks: "+strings.Join(f.Blocks, ", "))
	}
	paragraph(b, "help: "+f.Help)
	label := "  first: "
	for _, p := range f.First {
		within := p.within()
		fmt.Fprintf(b, "%s%s%s\n", label, ending(p.File, width-len(label)-len(within)), within)
		label = strings.Repeat(" ", len(label))
	}
}

// paragraph writes a text with an indent.
func paragraph(b *strings.Builder, text string) {
	indent := "  "
	for _, line := range excerpt.Wrap(strings.Fields(text), width-len("    "), width-len("    ")) {
		b.WriteString(indent + line + "\n")
		indent = "    "
	}
}

// ending returns the last n characters of a text from a file's name, on one
// line: names differ least at their beginning.
func ending(text string, n int) string {
	return excerpt.End(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text), n)
}
