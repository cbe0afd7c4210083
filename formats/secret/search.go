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
