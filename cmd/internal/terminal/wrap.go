package terminal

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/rollmill/rollmill/formats/excerpt"
	"github.com/rollmill/rollmill/storage/fault"
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

// hint returns the first hint in an error's tree, or one for errors of others.
func hint(err error) string {
	if h := fault.HintOf(err); h != "" {
		return h
	}
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		return "a file is where a folder is expected: name the folder that a stage wrote or will write"
	case errors.Is(err, fault.ErrInvalid):
		return "it was truncated or changed after it was written: restore it, or write it again with --overwrite"
	case errors.Is(err, syscall.ENOSPC):
		return "free some space and run the same command again; finished work is kept"
	}
	return ""
}

// once returns a message without parts that repeat the part before them.
func once(text string) string {
	return strings.Join(slices.Compact(strings.Split(text, ": ")), ": ")
}

// Visible replaces every invisible character of a text, except line ends and tabs, by an escape
// such as \x1b or \u202e. All text that is printed goes through it: data from models, programs
// and files must not move the cursor, hide text or make the terminal send input.
func Visible(text string) string {
	return escape(text, func(b *strings.Builder, r rune, raw string) {
		switch {
		case r == utf8.RuneError && len(raw) == 1 || r < utf8.RuneSelf:
			fmt.Fprintf(b, `\x%02x`, raw[0])
		case r > 0xffff:
			fmt.Fprintf(b, `\U%08x`, r)
		default:
			fmt.Fprintf(b, `\u%04x`, r)
		}
	})
}

// visibleJSON is visible for a JSON document. The meaning of the document does not change.
func visibleJSON(document string) string {
	return escape(document, func(b *strings.Builder, r rune, _ string) {
		if r > 0xffff {
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
			return
		}
		fmt.Fprintf(b, `\u%04x`, r)
	})
}

func escape(text string, write func(b *strings.Builder, r rune, raw string)) string {
	if !strings.ContainsFunc(text, hidden) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if raw := text[i : i+n]; hidden(r) {
			write(&b, r, raw)
		} else {
			b.WriteString(raw)
		}
		i += n
	}
	return b.String()
}

// hidden reports whether a character is invisible and neither a line end nor a tab.
func hidden(r rune) bool {
	return r != '\n' && r != '\t' && (r == utf8.RuneError || !unicode.IsGraphic(r))
}
