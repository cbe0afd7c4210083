package sandbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
)

// called is what one token adds to the tool calls of an answer.
type called struct {
	index     int    // of the call; -1 for none
	name      string // in the last token of the name
	arguments string
}

// toolCall is a call in a message or, with an index, a piece of a call in a stream.
type toolCall struct {
	Index    *int         `json:"index,omitempty"`
	ID       string       `json:"id,omitempty"`
	Type     string       `json:"type,omitempty"`
	Function toolFunction `json:"function"`
}

type toolFunction struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

// writer writes tool calls as the schemas allow, one token at a time. Where the
// schemas leave a choice it is drawn; elsewhere the token's probability is 1.
// Spacing is that of Python's json.dumps, so that a framework that parses the
// arguments and encodes them again gives the same text.
type writer struct {
	sampling
	answer
	random *rand.Rand
	index  int // of the call being written
	inside part
	over   bool     // by a limit or a stop string
	others []ranked // the alternatives to the next token
}

type part int

const (
	around    part = iota // marks, and the text between them
	naming                // the name and the quote after it
	arguments             // their JSON text
)

// call writes a whole answer whose first token was the mark of a call.
func (s sampling) call(random *rand.Rand, logp []float64) answer {
	w := &writer{sampling: s, random: random, others: rank(logp, s.top)}
	w.put(tokenCall, logp[words])
	for w.one(); !w.over; w.one() {
		next := []float64{math.Log(1 - chanceParallel), math.Log(chanceParallel)}
		if !s.calling.parallel || w.index+1 == maxCalls {
			next = next[:1]
		}
		if w.pick([]int{tokenEnd, tokenCall}[:len(next)], next) == tokenEnd {
			break
		}
		w.index++
	}
	if !w.over {
		w.finish = "tool_calls"
	}
	return w.answer
}

// one writes a call after its mark.
func (w *writer) one() {
	w.say(`{"name": "`)
	w.inside = naming
	name := w.oneOf(w.calling.names, `"`)
	w.inside = around
	w.say(`, "arguments": `)
	w.inside = arguments
	w.object(w.calling.takes[name])
	w.inside = around
	w.say("}" + closeCall)
}

func (w *writer) object(s schema) {
	names := s.written()
	if len(names) == 0 {
		w.say("{}")
		return
	}
	for i, name := range names {
		before, after := `, `, byte(',')
		if i == 0 {
			before = `{`
		} else {
			before = before[1:] // the previous value wrote the comma
		}
		if i == len(names)-1 {
			after = '}'
		}
		w.say(before + quoted(name) + ": ")
		w.value(s.Properties[name], after)
	}
}

// value writes a value and the next byte, which is what ends a number.
func (w *writer) value(s schema, after byte) {
	switch end := string(after); {
	case len(s.Enum) > 0:
		var texts []string
		for _, e := range s.Enum {
			texts = append(texts, compact(e))
		}
		w.oneOf(texts, end)
	case s.Const != nil:
		w.say(compact(s.Const) + end)
	case len(s.AnyOf) > 0:
		w.value(s.AnyOf[0], after)
	case len(s.OneOf) > 0:
		w.value(s.OneOf[0], after)
	default:
		w.plain(s, after)
	}
}

func (w *writer) plain(s schema, after byte) {
	switch end := string(after); s.kind() {
	case "integer", "number":
		w.number(after)
	case "boolean":
		w.oneOf([]string{"false", "true"}, end)
	case "null":
		w.say("null" + end)
	case "array":
		w.say("[]" + end)
	case "object":
		w.object(s)
		w.say(end)
	default:
		w.word()
		w.say(end)
	}
}

// number writes one or two digits.
func (w *writer) number(after byte) {
	var digits []int
	for d := range 10 {
		digits = append(digits, '0'+d)
	}
	first := w.pick(digits, make([]float64, 10))
	if first == '0' {
		w.put(int(after), 0)
		return
	}
	if w.pick(append(digits, int(after)), append(make([]float64, 10), math.Log(10))) != int(after) {
		w.put(int(after), 0)
	}
}

// word writes a text of one to eight lower-case letters.
func (w *writer) word() {
	w.say(`"`)
	var letters []int
	for l := range 26 {
		letters = append(letters, 'a'+l)
	}
	w.pick(letters, make([]float64, 26))
	more, even := append(letters, '"'), append(make([]float64, 26), math.Log(6))
	for range 7 {
		if w.pick(more, even) == '"' {
			return
		}
	}
	w.put('"', 0)
}

// oneOf writes one of several texts, drawn with equal probability, and its end:
// token after token, each with the share of the texts that continue with it.
func (w *writer) oneOf(texts []string, end string) (chosen string) {
	type candidate struct {
		text string
		ids  []int
	}
	var left []candidate
	for _, t := range texts {
		left = append(left, candidate{t, appendTokens(nil, t+end)})
	}
	for at := 0; ; at++ {
		var ids []int
		var logits []float64
		for _, c := range left {
			k := slices.Index(ids, c.ids[at])
			if k < 0 {
				k, ids, logits = len(ids), append(ids, c.ids[at]), append(logits, 0)
			}
			logits[k]++
		}
		for k := range logits {
			logits[k] = math.Log(logits[k])
		}
		next := w.choose(ids, logits)
		left = slices.DeleteFunc(left, func(c candidate) bool { return c.ids[at] != next.id })
		whole := slices.IndexFunc(left, func(c candidate) bool { return at == len(c.ids)-1 })
		if whole >= 0 && w.inside == naming {
			w.name(next, left[whole].text)
		} else {
			w.put(next.id, next.logprob)
		}
		if whole >= 0 {
			return left[whole].text
		}
	}
}

// pick draws a token and writes it.
func (w *writer) pick(ids []int, logits []float64) int {
	r := w.choose(ids, logits)
	w.put(r.id, r.logprob)
	return r.id
}

func (w *writer) choose(ids []int, logits []float64) ranked {
	logp := append([]float64(nil), logits...)
	k := w.draw(logp, w.random)
	if w.others = nil; w.top > 0 {
		for _, r := range rank(logp, w.top) {
			w.others = append(w.others, ranked{ids[r.id-firstWord], r.logprob})
		}
	}
	return ranked{ids[k], logp[k]}
}

// say writes text that has no alternative.
func (w *writer) say(text string) {
	for _, id := range appendTokens(nil, text) {
		w.put(id, 0)
	}
}

// name writes the last token of a name.
func (w *writer) name(r ranked, name string) {
	n := len(w.calls)
	if w.put(r.id, r.logprob); len(w.calls) > n {
		w.calls[n] = called{index: w.index, name: name}
	}
}

// put writes a token, unless the answer is at its end.
func (w *writer) put(id int, logprob float64) {
	if w.over {
		return
	}
	if len(w.ids) == w.maxTokens {
		w.over, w.finish = true, "length"
		return
	}
	c := called{index: -1}
	if w.inside == arguments {
		c = called{index: w.index, arguments: tokenText(id)}
	}
	w.ids, w.logprobs, w.calls = append(w.ids, id), append(w.logprobs, logprob), append(w.calls, c)
	if w.top > 0 {
		if w.others == nil {
			w.others = []ranked{{id, logprob}}
		}
		w.tops, w.others = append(w.tops, w.others), nil
	}
	if w.ended(id, w.stop) && id != tokenEnd {
		w.over, w.finish = true, "stop"
	}
}

// toolCalls joins the tool calls that an answer's tokens add.
func (c *completion) toolCalls(choice int) (list []toolCall) {
	for _, p := range c.answers[choice].calls {
		if p.name != "" {
			list = append(list, toolCall{ID: c.callID(choice, p.index), Type: "function",
				Function: toolFunction{Name: p.name}})
		}
		if p.index >= 0 {
			list[p.index].Function.Arguments += p.arguments
		}
	}
	return list
}

// piece returns what a token of an answer adds in a stream.
func (c *completion) piece(choice, token int) []toolCall {
	p := c.answers[choice].calls[token]
	switch {
	case p.name != "":
		return []toolCall{{Index: &p.index, ID: c.callID(choice, p.index), Type: "function",
			Function: toolFunction{Name: p.name}}}
	case p.index >= 0:
		return []toolCall{{Index: &p.index, Function: toolFunction{Arguments: p.arguments}}}
	}
	return nil
}

// callID returns an id that depends on the prompt and the answer.
func (c *completion) callID(choice, index int) string {
	h := sha256.New()
	for _, ids := range [][]int{c.prompt, c.answers[choice].ids} {
		for _, id := range ids {
			binary.Write(h, binary.BigEndian, int32(id))
		}
	}
	binary.Write(h, binary.BigEndian, []int32{int32(choice), int32(index)})
	return "call_" + hex.EncodeToString(h.Sum(nil)[:12])
}

func quoted(name string) string {
	text, _ := json.Marshal(name)
	return string(text)
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return strconv.Quote(string(raw))
	}
	return b.String()
}
