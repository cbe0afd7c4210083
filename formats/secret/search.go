package secret

import (
	"io"
	"strings"
)

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

// Find returns the name of a value that is in a text, "" for none.
func (s *Set) Find(text string) string {
	f := s.NewSearch()
	_, _ = io.WriteString(f, text)
	return f.End()
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

// look searches what is held. Whether a short value ends where the stream does is known at its end.
func (f *Search) look(ended bool) {
	text := string(f.buf)
	for _, text := range []string{text, unescaped(text)} {
		for i := range f.m.patterns {
			p := &f.m.patterns[i]
			from := 0
			if f.later { // the byte before is not known; it was, when this was looked at before
				from = 1
			}
			at := p.find(text, min(from, len(text)))
			if at >= 0 && (ended || p.where == anywhere || at+len(p.text) < len(text)) {
				f.found = strings.TrimSuffix(strings.TrimPrefix(p.mark, markBegin), "]")
				return
			}
		}
	}
}
