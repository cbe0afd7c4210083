package page

import (
	"regexp"
	"strings"

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
	common := commonWords(a, b)
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

// commonWords reports for each word of a whether it is in a longest common subsequence
// with b.
func commonWords(a, b []string) []bool {
	common := make([]bool, len(a))
	from, end := 0, 0
	for ; from < min(len(a), len(b)) && a[from] == b[from]; from++ {
		common[from] = true
	}
	for ; end < min(len(a), len(b))-from && a[len(a)-1-end] == b[len(b)-1-end]; end++ {
		common[len(a)-1-end] = true
	}
	a, b = a[from:len(a)-end], b[from:len(b)-end]
	if len(a) > maxWords || len(b) > maxWords {
		return common
	}
	longest := make([][maxWords + 1]uint16, len(a)+1) // of a[i:] and b[j:]
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			common[from+i] = true
			i, j = i+1, j+1
		case longest[i+1][j] >= longest[i][j+1]:
			i++
		default:
			j++
		}
	}
	return common
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
