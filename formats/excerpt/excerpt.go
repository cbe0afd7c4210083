// Package excerpt shortens texts for messages and pages, and breaks them into lines. It is not for texts that are stored in
// rows, because digests cover these.
package excerpt

import (
	"strings"
	"unicode/utf8"
)

const mark = "…"

// Start returns at most n characters of a text, the last of which is a mark if it was cut.
func Start(text string, n int) string {
	if short(text, n) {
		return text
	}
	for i := range text {
		if n--; n <= 0 {
			return text[:i] + mark
		}
	}
	return text
}

// End returns at most n characters of a text, the first of which is a mark if it was cut.
func End(text string, n int) string {
	if short(text, n) {
		return text
	}
	at := len(text)
	for range n - 1 {
		_, size := utf8.DecodeLastRuneInString(text[:at])
		at -= size
	}
	return mark + text[at:]
}

func short(text string, n int) bool { return len(text) <= n || utf8.RuneCountInString(text) <= n }

// Wrap joins words to lines of at most width characters, the first of which has at most first. A
// longer word has a line of its own.
func Wrap(words []string, width, first int) []string {
	lines, room := []string{""}, first
	for _, word := range words {
		last := len(lines) - 1
		used := utf8.RuneCountInString(lines[last])
		if used > 0 && used+1+utf8.RuneCountInString(word) > room {
			lines, room = append(lines, word), width
			continue
		}
		lines[last] = strings.TrimLeft(lines[last]+" "+word, " ")
	}
	return lines
}
