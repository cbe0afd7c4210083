package secret

import "strings"

// Search finds out whether a stream has one of the values, in memory that does not depend on its length. It is an
// io.Writer that never fails.
type Search struct {
	m     *matcher
	buf   []byte
	later bool // buf is not the beginning
	found string
}

// NewSearch begins a search for the values that are known now.
func (s *Set) NewSearch() *Search {
	f := &Search{}
	if s.Known() {
		f.m = s.found.Load()
	}
	return f
}

const searched = 256 << 10 // bytes at once

func (f *Search) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0 && f.m != nil && f.found == ""; {
		n := min(len(rest), searched)
		f.buf, rest = append(f.buf, rest[:n]...), rest[n:]
		f.look(false)
		if keep := 6 * (f.m.longest + 2); len(f.buf) > keep { // each byte may be escaped: \u0041
			f.buf, f.later = append(f.buf[:0], f.buf[len(f.buf)-keep:]...), true
		}
	}
	return len(p), nil
}

// End returns the name of a value that the stream has, "" for none.
func (f *Search) End() string {
	if f.m != nil && f.found == "" {
		f.look(true)
	}
	return f.found
}

// look searches what is held. Whether a short value ends where the stream does is known at its end, and what is
// before the first byte was known when that was looked at before.
func (f *Search) look(ended bool) {
	for _, text := range []string{string(f.buf), unescaped(string(f.buf))} {
		for i := range f.m.patterns {
			p := &f.m.patterns[i]
			at := p.find(text, map[bool]int{true: min(1, len(text))}[f.later])
			if at >= 0 && (ended || p.where == anywhere || at+len(p.text) < len(text)) {
				f.found = strings.TrimSuffix(strings.TrimPrefix(p.mark, markBegin), "]")
				return
			}
		}
	}
}

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
