package heldout

import (
	"math/bits"
	"slices"
	"strings"
	"unicode"

	"github.com/clipperhouse/uax29/v2/words"
	"github.com/zeebo/xxh3"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/rollmill/rollmill/formats/excerpt"
)

// index finds the runs of n words that held-out texts have. Memory is the texts and 15 bytes for each of their words.
type index struct {
	n     int
	texts []text
	seen  map[xxh3.Uint128]bool // digests of the texts, while they are learnt
	runs  int
	slots []slot
	words []word
}

// text is a held-out text, and where it is from.
type text struct {
	field, text string
	row         int64
	source      int
}

// slot is where a run of words is: in the text of this number from 1, 0 in a free slot, from this byte on.
type slot struct{ text, at, hash uint32 }

// word is a word of a text: what is compared, its hash, and where it is.
type word struct {
	form       string
	hash       uint64
	start, end int
}

// split appends the first words of a text: what lies between two word boundaries of Unicode (UAX 29) and has a
// letter or a digit. From the start of a word on, the words are the same as from the start of the text.
func split(into []word, text string, limit int) []word {
	for s := words.FromString(text); len(into) < limit && s.Next(); {
		if f := form(s.Value()); strings.ContainsFunc(f, significant) {
			into = append(into, word{f, xxh3.HashString(f), s.Start(), s.End()})
		}
	}
	return into
}

// form returns the letters, marks and digits of a word, in compatibility form (NFKC) and with case folded: "Don’t",
// "don't" and "DONT" are one word, as are "1,000" and "1000".
func form(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return r > unicode.MaxASCII }) < 0 {
		text = strings.ToLower(text)
	} else {
		text = norm.NFKC.String(cases.Fold().String(strings.ToLower(norm.NFKC.String(text))))
	}
	return strings.Map(func(r rune) rune {
		if significant(r) || unicode.IsMark(r) && !unicode.Is(unicode.Variation_Selector, r) {
			return r
		}
		return -1
	}, text)
}

func sameWord(a, b word) bool { return a.form == b.form }

func significant(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// add learns a text, and reports whether it has n words.
func (x *index) add(t text) bool {
	digest := xxh3.HashString128(t.text)
	if x.seen[digest] {
		return true
	}
	x.words = split(x.words[:0], t.text, len(t.text))
	if len(x.words) < x.n {
		return false
	}
	t.text, x.seen[digest] = strings.Clone(t.text), true
	x.texts, x.runs = append(x.texts, t), x.runs+len(x.words)-x.n+1
	return true
}

// build ends what is learnt.
func (x *index) build() {
	x.seen, x.slots = nil, make([]slot, x.runs+x.runs/4+1)
	for i, t := range x.texts {
		x.words = split(x.words[:0], t.text, len(t.text))
		for k := range len(x.words) - x.n + 1 {
			if s, hash := x.look(x.words[k : k+x.n]); s.text == 0 {
				*s = slot{uint32(i + 1), uint32(x.words[k].start), hash}
			}
		}
	}
}

// look returns the slot of a run, or the free one where it belongs. Equal hashes prove nothing: the words are compared.
func (x *index) look(run []word) (*slot, uint32) {
	hash := uint64(0)
	for i := range run {
		hash = (bits.RotateLeft64(hash, 29) ^ run[i].hash) * 0x9E3779B97F4A7C15
	}
	for at, _ := bits.Mul64(hash, uint64(len(x.slots))); ; at = (at + 1) % uint64(len(x.slots)) {
		s := &x.slots[at]
		if s.text == 0 || s.hash == uint32(hash) && slices.EqualFunc(x.held(s), run, sameWord) {
			return s, uint32(hash)
		}
	}
}

// held returns the run at a slot, with places from the slot's on.
func (x *index) held(s *slot) []word { return split(nil, x.texts[s.text-1].text[s.at:], x.n) }

// hit returns the first run of words of a text that a held-out text has, or nil.
func (x *index) hit(field, text string) *Hit {
	x.words = split(x.words[:0], text, len(text))
	for i := range max(0, len(x.words)-x.n+1) {
		run := x.words[i : i+x.n]
		s, _ := x.look(run)
		if s.text == 0 {
			continue
		}
		in, held := x.texts[s.text-1], x.held(s)
		hit := &Hit{Source: in.source, HeldRow: in.row, Text: field + ": " + around(text, run[0].start, run[x.n-1].end),
			HeldText: in.field + ": " + around(in.text, int(s.at), int(s.at)+held[x.n-1].end)}
		for _, w := range run {
			hit.Words = strings.TrimSpace(hit.Words + " " + w.form)
		}
		return hit
	}
	return nil
}

// around returns a part of a text in brackets, and some text on both sides.
func around(text string, from, to int) string {
	return excerpt.End(text[:from], 25) + "[" + excerpt.Start(text[from:to], 120) + "]" + excerpt.Start(text[to:], 25)
}
