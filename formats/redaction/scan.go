package redaction

import "strings"

// scanner finds the keys of several detectors in one pass over a text. Most
// texts have none, so the pass looks only at whether three bytes are those of a
// literal.
type scanner struct {
	literals []literal
	first    [1 << tableBits]uint8 // by the hash of three bytes: index+1 of a literal, 0 for none
}

type literal struct {
	text string
	at   int // of the three bytes within it
	key  *key
	rank int
	next uint8 // index+1 of another literal with the same hash
}

const tableBits = 12

func newScanner(detectors []*key) *scanner {
	s := &scanner{}
	for rank, k := range detectors {
		for _, text := range k.literals {
			l := literal{text: text, at: rarest(text), key: k, rank: rank}
			h := hash(text[l.at:])
			l.next = s.first[h]
			s.literals = append(s.literals, l)
			s.first[h] = uint8(len(s.literals))
		}
	}
	return s
}

func hash(text string) uint32 {
	return (uint32(text[0]) | uint32(text[1])<<8 | uint32(text[2])<<16) * 0x9E3779B1 >> (32 - tableBits)
}

// rarest returns the three bytes of a literal with the fewest small letters.
func rarest(text string) (at int) {
	fewest := 4
	for i := range len(text) - 2 {
		n := 0
		for _, c := range []byte(text[i : i+3]) {
			if c >= 'a' && c <= 'z' || c == '-' || c == ' ' {
				n++
			}
		}
		if n < fewest {
			at, fewest = i, n
		}
	}
	return at
}

func (s *scanner) find(dst []span, text string) []span {
	for i := 0; i+2 < len(text); i++ {
		v := uint32(text[i]) | uint32(text[i+1])<<8 | uint32(text[i+2])<<16
		if n := s.first[v*0x9E3779B1>>(32-tableBits)]; n != 0 {
			dst = s.verify(dst, text, i, n)
		}
	}
	return dst
}

// verify appends the keys whose literal has its three bytes at i.
func (s *scanner) verify(dst []span, text string, i int, n uint8) []span {
	for n != 0 {
		l := &s.literals[n-1]
		n = l.next
		at := i - l.at
		if at < 0 || !strings.HasPrefix(text[at:], l.text) || inside(dst, at, l.key.name) {
			continue
		}
		if from, to := l.key.around(text, at); from >= 0 {
			dst = append(dst, span{from, to, l.key.name, l.rank})
		}
	}
	return dst
}

// inside reports whether a place is in the last key that was found: a literal
// within a key would be searched to the end of it again.
func inside(found []span, at int, name string) bool {
	n := len(found)
	return n > 0 && found[n-1].name == name && at < found[n-1].to
}
