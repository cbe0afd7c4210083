package secret

import "strings"

// matcher finds a few patterns: a process has a handful of secrets. Texts that
// hold none, nearly all, are found out in one pass.
type matcher struct {
	patterns          []pattern // longest first: one may be part of another
	longest, shortest int
	lines             bool // no pattern goes over a line's end
	skip              *skip
}

// redact replaces every pattern, and counts.
func (m *matcher) redact(text string) (string, int) {
	if m.skip.none(text, m.patterns) {
		return text, 0
	}
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

// find returns where the pattern stands at or after from, or -1.
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

// replace puts the mark in place of the pattern, first found at at.
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

// alone reports whether no part of a word stands beside the text at at.
func (p *pattern) alone(text string, at int) bool {
	end := at + len(p.text)
	return (at == 0 || !inWord(text[at-1])) && (end == len(text) || !inWord(text[end]))
}

func inWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c >= 0x80
}
