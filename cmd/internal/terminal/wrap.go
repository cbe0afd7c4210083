package terminal

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/rollmill/rollmill/formats/excerpt"
)

// The widths of help, in characters.
const (
	helpWidth = 120 // of a line
	helpNames = 32  // of a column of names; the text after a longer name begins where the name ends
)

// WriteRows writes a heading and a row for each name and its text. Long texts
// continue on further lines.
func WriteRows(b *strings.Builder, heading string, rows [][2]string) {
	width := 0
	for _, r := range rows {
		if n := utf8.RuneCountInString(r[0]); n <= helpNames {
			width = max(width, n)
		}
	}
	fmt.Fprintf(b, "\n%s:\n", heading)
	for _, r := range rows {
		lines := excerpt.Wrap(strings.Fields(r[1]), helpWidth-width-4, helpWidth-4-max(width, utf8.RuneCountInString(r[0])))
		fmt.Fprintf(b, "  %-*s  %s\n", width, r[0], lines[0])
		for _, line := range lines[1:] {
			fmt.Fprintf(b, "  %*s  %s\n", width, "", line)
		}
	}
}

// WriteWrapped writes a text after a label. Further lines are indented.
func WriteWrapped(b *strings.Builder, label, text string) {
	indent := strings.Repeat(" ", len(label)-len(strings.TrimLeft(label, " "))+2)
	for i, line := range excerpt.Wrap(strings.Fields(text), helpWidth-len(indent), helpWidth-utf8.RuneCountInString(label)) {
		if i > 0 {
			label = indent
		}
		fmt.Fprintf(b, "%s%s\n", label, line)
	}
}
