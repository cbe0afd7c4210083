package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// short returns at most n characters of a text, with a mark where it was cut.
func short(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for i := range text {
		if n--; n <= 0 {
			return text[:i] + "…"
		}
	}
	return text
}

// visible returns a text with the numbers of its invisible characters in place of
// them: control characters, and those that change the direction of what follows, could
// make a text look like another.
func visible(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, hidden) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if hidden(r) {
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// hidden reports whether a character is invisible and neither a line end nor a
// tab.
func hidden(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsGraphic(r) }

// Piece is the beginning of a text.
type Piece struct {
	Text string
	Left int // characters that were cut
	Of   int // characters of the whole text
	cost int // bytes in the page
}

// Cut returns as much of a text as takes at most that many bytes in a page.
func Cut(text string, bytes int) Piece {
	p := Piece{Of: utf8.RuneCountInString(text)}
	at, shown := 0, 0
	for i, r := range text {
		n := width(r)
		if p.cost+n > bytes {
			break
		}
		p.cost += n
		shown++
		at = i + utf8.RuneLen(r)
		if r == utf8.RuneError { // also one byte that is no text
			_, size := utf8.DecodeRuneInString(text[i:])
			at = i + size
		}
	}
	p.Text, p.Left = visible(text[:at]), p.Of-shown
	return p
}

// width returns at most how many bytes a character takes in a page.
func width(r rune) int {
	switch r {
	case '&', '<', '>', '"', '\'', '+', '`':
		return 6
	case '\n', '\t':
		return 1
	}
	if hidden(r) {
		return 18
	}
	return utf8.RuneLen(r)
}
