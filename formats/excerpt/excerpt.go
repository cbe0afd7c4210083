// Package excerpt shortens texts for messages and pages. It is not for texts that are stored in
// rows, because digests cover these.
package excerpt

import "unicode/utf8"

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
