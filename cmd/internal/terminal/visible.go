package terminal

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

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
