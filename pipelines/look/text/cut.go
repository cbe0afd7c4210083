// Package text shortens texts of models and programs, and shows what is invisible in them: for
// pages, in which a text may take so many bytes, and for terminals, on which it is one line.
// It escapes nothing: templates do that for pages, and package cli for terminals.
package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rollmill/rollmill/formats/excerpt"
)

// Visible returns a text with the numbers of its invisible characters in place of
// them: control characters, and those that change the direction of what follows, could
// make a text look like another.
func Visible(text string) string {
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
	Cost int // bytes in the page
}

// Cut returns as much of a text as takes at most that many bytes in a page.
func Cut(text string, bytes int) Piece {
	p := Piece{Of: utf8.RuneCountInString(text)}
	at, shown := 0, 0
	for i, r := range text {
		n := width(r)
		if p.Cost+n > bytes {
			break
		}
		p.Cost += n
		shown++
		at = i + utf8.RuneLen(r)
		if r == utf8.RuneError { // also one byte that is no text
			_, size := utf8.DecodeRuneInString(text[i:])
			at = i + size
		}
	}
	p.Text, p.Left = Visible(text[:at]), p.Of-shown
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

// Beginning returns as much of a text as Cut, with a mark where it was cut.
func Beginning(text string, bytes int) string {
	piece := Cut(text, bytes)
	if piece.Left > 0 {
		return piece.Text + "…"
	}
	return piece.Text
}

// FirstWords returns the beginning of a text in one line.
func FirstWords(text string, bytes int) string {
	text = strings.ToValidUTF8(text[:min(len(text), 4*bytes)], "")
	return Beginning(strings.Join(strings.Fields(text), " "), bytes)
}

var lineEnds = strings.NewReplacer("\r\n", " ⏎ ", "\n", " ⏎ ", "\t", " ")

// nameBytes is how much of a name is shown.
const nameBytes = 200

// Name returns a short text in one line, with marks for line ends.
func Name(text string) string { return Beginning(lineEnds.Replace(text), nameBytes) }

// Line returns a text as one line without control characters.
func Line(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || !unicode.IsPrint(r) }), " ")
}

// LineWidth is how many characters of a text in one line are shown, and cellWidth in a table.
const (
	LineWidth = 200
	cellWidth = 48
)

// OneLine returns the beginning of a text as one line.
func OneLine(text string) string { return excerpt.Start(Line(text), LineWidth) }

// Cell returns the beginning of a text for a table.
func Cell(text string) string { return excerpt.Start(Line(text), cellWidth) }

// Because returns a class and a text as the end of a sentence, "" without both.
func Because(class, reason string) string {
	end := ""
	if class != "" {
		end = ", " + Line(class)
	}
	if reason != "" {
		end += ": " + OneLine(reason)
	}
	return end
}
