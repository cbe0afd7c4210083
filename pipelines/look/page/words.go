package page

import (
	"regexp"
	"strings"

	"github.com/rollmill/rollmill/pipelines/look/align"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

// Passage is a text in which the words that another lacks can be marked.
type Passage struct {
	text.Piece
	Spans []Span // the whole text; nil if nothing is marked
}

// Span is a part of a text.
type Span struct {
	Text string
	Only bool // the other text lacks it
}

// The sizes of texts that are compared word by word.
const (
	maxWords   = 600 // between their common beginning and end; more are marked as a whole
	fewWords   = 12  // of a text that is marked even if it has nothing in common with the other
	commonPart = 4   // one word in so many must be common in a longer one, else marks say nothing
)

var word = regexp.MustCompile(`\s+|[\pL\pN_]+|[^\s\pL\pN_]`)

// Compared returns a text with the words marked that another lacks, in order.
func Compared(one, other string) []Span {
	a, b := word.FindAllString(one, -1), word.FindAllString(other, -1)
	common := make([]bool, len(a))
	for _, at := range align.Common(a, b, maxWords) {
		common[at[0]] = true
	}
	var out []Span
	shared := 0
	for i, w := range a {
		if common[i] && strings.TrimSpace(w) == "" && i > 0 && i+1 < len(a) {
			common[i] = common[i-1] || common[i+1] // a space between two marks is marked
		}
		if common[i] {
			shared++
		}
		if last := len(out) - 1; last >= 0 && out[last].Only != common[i] {
			out[last].Text += w
			continue
		}
		out = append(out, Span{w, !common[i]})
	}
	if shared == len(a) || len(a) > fewWords && shared*commonPart < len(a) {
		return nil
	}
	return out
}

// MarkWords marks the words of a message that another at the same place lacks.
func (m *Message) MarkWords(other *Message) {
	for i := range min(len(m.Parts), len(other.Parts)) {
		m.Parts[i].Text.Spans = Compared(m.Parts[i].Text.Text, other.Parts[i].Text.Text)
	}
	for i := range min(len(m.Calls), len(other.Calls)) {
		m.Calls[i].Arguments.Spans = Compared(m.Calls[i].Arguments.Text, other.Calls[i].Arguments.Text)
	}
}
