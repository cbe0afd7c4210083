package validate

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rollmill/rollmill/formats/plural"
)

// width is the number of columns of the text.
const width = 100

// WriteText writes the report as text for people, at most 100 columns wide.
func (r Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s in %s, %s\n", plural.Of(r.Rows, "row"), plural.Of(r.Groups, "group"), plural.Of(r.FileCount, "file"))
	if r.Rows > 0 {
		b.WriteString("\n" + aligned(r.summary.uses()))
	}
	for _, f := range r.Findings {
		b.WriteByte('\n')
		f.write(&b)
	}
	if r.FileCount > 1 {
		b.WriteString("\n" + aligned(r.byFile()))
		r.places(&b)
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
		b.WriteString(aligned(r.summary.uses()))
	}
	if len(names) > 0 {
		paragraph(&b, "findings: "+strings.Join(names, ", "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// tableLine is a line of a table. The last cell is wrapped between its words.
type tableLine struct {
	cells []string
	words []string
}

// uses returns a table of what the rows can be used for.
func (s summary) uses() []tableLine {
	out := []tableLine{{[]string{"use", "possible for"}, []string{"blocked by (rows)"}}}
	for _, u := range s.Uses {
		var words []string
		for i, r := range u.Because {
			words = append(words, fmt.Sprintf("%s %d", r.Finding, r.Rows))
			if i < len(u.Because)-1 {
				words[i] += ","
			}
		}
		out = append(out, tableLine{[]string{u.Use, u.possible()}, words})
	}
	return out
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
	fmt.Fprintf(b, "%s: %s (%s)\n", f.Name, f.counted(), f.Severity)
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

// counted returns what the finding counts: "3 rows".
func (f limit) counted() string { return plural.Of(f.Count, strings.TrimSuffix(f.Of, "s")) }

// byFile returns a table with a line for each file and a column for each use. A
// group counts in the file where it begins, so that the column adds up.
func (r Report) byFile() []tableLine {
	head := []string{"rows", "groups begun"}
	for _, u := range r.Meaning {
		head = append(head, u.Name)
	}
	out := []tableLine{{head, []string{"file"}}}
	add := func(name string, s summary) {
		cells := []string{strconv.FormatInt(s.Rows, 10), strconv.FormatInt(s.Groups, 10)}
		for _, u := range s.Uses {
			cells = append(cells, u.share())
		}
		out = append(out, tableLine{cells, []string{name}})
	}
	for _, f := range r.Files {
		add(f.Name, f.summary)
	}
	if r.Other != nil {
		add(plural.Of(r.FileCount-len(r.Files), "other file"), *r.Other)
	}
	return out
}

// share returns the share of the rows for which a use is possible, rounded down.
func (u useCount) share() string {
	switch percent := 100 * u.Possible / max(u.Of, 1); {
	case u.Verdict == possible:
		return "yes"
	case u.Verdict == impossible:
		return "no"
	case percent == 0:
		return "<1%"
	default:
		return fmt.Sprintf("%d%%", percent)
	}
}

// places writes the findings of each file with their places.
func (r Report) places(b *strings.Builder) {
	for _, f := range r.Files {
		if len(f.Findings) == 0 {
			continue
		}
		fmt.Fprintf(b, "\n%s\n", ending(f.Name, width))
		for _, x := range f.Findings {
			text := x.Name + ": " + x.counted()
			if x.Count == 0 {
				text = x.Name + ": " + plural.Of(x.Rows, "row") + " of groups that begin in other files"
			}
			paragraph(b, text+x.at())
		}
	}
}

// at returns the places of a finding in a file: " at lines 3, 5, ...".
func (f limit) at() string {
	if len(f.First) == 0 {
		return ""
	}
	noun := "line"
	if f.First[0].Line == 0 {
		noun = "record"
	}
	if len(f.First) > 1 {
		noun += "s"
	}
	var at []string
	for _, p := range f.First {
		at = append(at, strconv.FormatInt(cmp.Or(p.Line, p.Record), 10))
	}
	if f.Count > int64(len(f.First)) {
		at = append(at, "...")
	}
	return " at " + noun + " " + strings.Join(at, ", ")
}

// aligned returns a table.
func aligned(table []tableLine) string {
	widths := make([]int, len(table[0].cells))
	for _, l := range table {
		for i, cell := range l.cells {
			widths[i] = max(widths[i], len(cell))
		}
	}
	var b strings.Builder
	for _, l := range table {
		var row strings.Builder
		for i, cell := range l.cells {
			fmt.Fprintf(&row, "%-*s  ", widths[i], cell)
		}
		before := row.String()
		for _, text := range wrapped(l.words, width-len(before)) {
			b.WriteString(strings.TrimRight(before+text, " ") + "\n")
			before = strings.Repeat(" ", len(before))
		}
	}
	return b.String()
}

// paragraph writes a text with an indent.
func paragraph(b *strings.Builder, text string) {
	indent := "  "
	for _, line := range wrapped(strings.Fields(text), width-len("    ")) {
		b.WriteString(indent + line + "\n")
		indent = "    "
	}
}

// wrapped returns lines of at most n characters; at least one.
func wrapped(words []string, n int) []string {
	lines := []string{""}
	for _, word := range words {
		word = ending(word, n)
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case utf8.RuneCountInString(*last)+1+utf8.RuneCountInString(word) <= n:
			*last += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}

// ending returns the last n characters of a text from a file's name, on one
// line: names differ least at their beginning.
func ending(text string, n int) string {
	runes := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text))
	if len(runes) > n {
		return "…" + string(runes[len(runes)-n+1:])
	}
	return string(runes)
}
