package chat

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// part is the messages of a part of a conversation: a list, or text.
type part struct {
	list []byte
	text string
	from int // how many messages of the list belong to the prompt
}

// implicit finds the prompt that the answers have in common.
func implicit(answers [2]part) (before part, _ [2]part) {
	if answers[0].list == nil {
		return commonText(answers)
	}
	a, b := elements(answers[0].list), elements(answers[1].list)
	n := 0
	for n < min(len(a), len(b)) && same(a[n], b[n]) {
		n++
	}
	if n == len(a) || n == len(b) { // one continues the other: the last message of the shorter one is its answer
		n = max(0, min(len(a), len(b))-1)
	}
	answers[0].from, answers[1].from = n, n
	return before, answers
}

// commonText splits texts: dialogues with "Human:" and "Assistant:" into their
// turns, others where they begin to differ, before the space of the word.
func commonText(answers [2]part) (before part, _ [2]part) {
	a, b := dialogue(answers[0].text), dialogue(answers[1].text)
	if a != nil && b != nil {
		answers[0], answers[1] = part{list: a}, part{list: b}
		return implicit(answers)
	}
	x, y := answers[0].text, answers[1].text
	n := 0
	for n < min(len(x), len(y)) && x[n] == y[n] {
		n++
	}
	for n > 0 && n < len(x) && !utf8.RuneStart(x[n]) {
		n--
	}
	if n > 0 && x[n-1] == ' ' {
		n--
	}
	before.text, answers[0].text, answers[1].text = x[:n], x[n:], y[n:]
	return before, answers
}

// dialogue returns the turns of a text in the manner of hh-rlhf as a list of
// messages, nil for other text.
func dialogue(text string) []byte {
	const human, assistant = "\n\nHuman:", "\n\nAssistant:"
	if !strings.HasPrefix(text, human) {
		return nil
	}
	var list [][]byte
	for len(text) > 0 {
		role, mark := "user", human
		if strings.HasPrefix(text, assistant) {
			role, mark = "assistant", assistant
		}
		text = text[len(mark):]
		end := len(text)
		for _, next := range []string{human, assistant} {
			if i := strings.Index(text, next); i >= 0 {
				end = min(end, i)
			}
		}
		list = append(list, said(role, importers.Quote(strings.TrimSpace(text[:end]))))
		text = text[end:]
	}
	return value.Join(list)
}

// said returns a message; its content is JSON.
func said(role string, content []byte) []byte {
	return append(append(fmt.Appendf(nil, `{"role":%q,"content":`, role), content...), '}')
}

func elements(list []byte) [][]byte {
	return slices.AppendSeq(make([][]byte, 0, 4), jsontext.Elements(list)) // most lists are short
}

// same reports whether messages are equal, whatever the order of their members.
func same(a, b []byte) bool {
	if string(a) == string(b) {
		return true
	}
	var x, y Reader
	if !x.reads(a) || !y.reads(b) || len(x.other) != len(y.other) {
		return false
	}
	for i := range x.other {
		if x.other[i].key != y.other[i].key || string(x.other[i].value) != string(y.other[i].value) {
			return false
		}
	}
	return reflect.DeepEqual(x.Messages, y.Messages)
}

// reads adds a message as input, and reports whether it is one.
func (c *Reader) reads(raw []byte) bool { return must.Try(func() { c.AddMessage(raw, false) }) }

// sameJSON reports whether values are equal but for space.
func sameJSON(a, b []byte) bool {
	return string(a) == string(b) || jsontext.Compact(a) == jsontext.Compact(b)
}
