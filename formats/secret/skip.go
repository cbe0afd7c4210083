package secret

import "strings"

// skip determines whether any of several patterns is in a text, in one pass
// that looks at few of its bytes (Wu and Manber): most texts have none, and
// every text of every row is searched. Where two adjacent bytes are in no
// pattern, no pattern that covers them can be there.
type skip struct {
	window int           // the length of the shortest pattern; 0 when that is too short to skip anything
	far    [1 << 16]byte // by two bytes: how far the window may move when it ends in them
}

// minWindow is the shortest window with which skipping is useful.
const minWindow = 4

func newSkip(patterns []pattern, shortest int) *skip {
	s := &skip{}
	if shortest < minWindow {
		return s
	}
	s.window = min(shortest, 255)
	for i := range s.far {
		s.far[i] = byte(s.window - 1)
	}
	for i := range patterns {
		text := patterns[i].text
		for at := 1; at < s.window; at++ {
			two := int(text[at-1])<<8 | int(text[at])
			s.far[two] = min(s.far[two], byte(s.window-1-at))
		}
	}
	return s
}

// none reports whether the text certainly has no pattern. After false it may
// have one.
func (s *skip) none(text string, patterns []pattern) bool {
	if s.window == 0 {
		return false
	}
	for end := s.window - 1; end < len(text); {
		far := int(s.far[int(text[end-1])<<8|int(text[end])])
		if far > 0 {
			end += far
			continue
		}
		rest := text[end-s.window+1:]
		for i := range patterns {
			if strings.HasPrefix(rest, patterns[i].text) {
				return false
			}
		}
		end++
	}
	return true
}
