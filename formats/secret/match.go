package secret

import "strings"

// matcher finds a few patterns, because a process has only a few secrets.
type matcher struct {
	patterns          []pattern // longest first: one may be part of another
	longest, shortest int
	lines             bool // no pattern contains a line end
}

// redact replaces every pattern and counts the replacements.
func (m *matcher) redact(text string) (string, int) {
	n := 0
	for i := range m.patterns {
		p := &m.patterns[i]
		if at := p.find(text, 0); at >= 0 {
			var k int
			text, k = p.replace(text, at)
			n += k
		}
	}
	return text, n
}

// find returns the position of the pattern at or after from, or -1.
func (p *pattern) find(text string, from int) int {
	if p.where == asWhole {
		if from == 0 && text == p.text {
			return 0
		}
		return -1
	}
	for from < len(text) {
		at := strings.Index(text[from:], p.text)
		if at < 0 {
			return -1
		}
		at += from
		if p.where == anywhere || p.alone(text, at) {
			return at
		}
		from = at + 1
	}
	return -1
}

// replace replaces the pattern by its mark; its first position is at.
func (p *pattern) replace(text string, at int) (string, int) {
	var out strings.Builder
	n, from := 0, 0
	for ; at >= 0; at = p.find(text, from) {
		out.WriteString(text[from:at])
		out.WriteString(p.mark)
		n, from = n+1, at+len(p.text)
	}
	out.WriteString(text[from:])
	return out.String(), n
}

// alone reports whether the text at at is not adjacent to a part of a word.
func (p *pattern) alone(text string, at int) bool {
	end := at + len(p.text)
	return (at == 0 || !inWord(text[at-1])) && (end == len(text) || !inWord(text[end]))
}

func inWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c >= 0x80
}
