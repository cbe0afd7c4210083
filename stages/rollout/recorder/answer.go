package recorder

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats"
)

// answer is what an engine said, put together from one body or from the
// chunks of a stream.
type answer struct {
	model   string
	prompt  []int32 // ids of the whole prompt; nil when the engine gave none
	choices []*choice
	usage   usage
	err     error // the engine said in the middle of a stream that it failed
}

type usage struct {
	known                      bool
	prompt, completion, cached int32
}

type choice struct {
	index   int64
	message formats.Message
	finish  string
	text    pieces
	tokens  tokens
}

// pieces joins the text of a stream.
type pieces struct{ content, reasoning, refusal strings.Builder }

// tokens are what was sampled, by each source that may tell.
type tokens struct {
	listed   bool // there was a list of logprobs, perhaps empty
	logprobs []float32
	bad      string              // the first logprob that is not one
	ids      map[string][]int32  // by formats.Tokens… source
	holes    map[string]struct{} // sources that miss an entry
	beside   *tokens             // logprobs from another place than choice.logprobs
}

var errGarbage = errors.New("the answer is not a chat completion")

// add reads a whole answer, or one chunk of a stream. NaN and infinities,
// which Python engines write although JSON has none, are read as null.
func (a *answer) add(body []byte) error {
	if !json.Valid(body) {
		if body = withoutNaN(body); !json.Valid(body) {
			return fmt.Errorf("%w: not JSON: %s", errGarbage, excerpt(body))
		}
	}
	seen := false
	c := cursor{b: body}
	for key := range c.members() {
		switch string(key) {
		case "model":
			a.model = unquote(c.value())
		case "prompt_token_ids":
			a.setPrompt(c.value())
		case "usage":
			a.usage.read(c.value())
		case "error":
			if string(c.value()) != "null" {
				a.err = fmt.Errorf("the engine reported: %s", errorText(body))
			}
		case "choices":
			seen = true
			position := int64(0)
			for range c.elements() {
				a.addChoice(c.value(), position)
				position++
			}
		}
	}
	if !seen && a.err == nil {
		return fmt.Errorf("%w: no choices: %s", errGarbage, excerpt(body))
	}
	return nil
}

func (a *answer) setPrompt(v []byte) {
	if ids, ok := parseIDs(v); ok && a.prompt == nil {
		a.prompt = ids
	}
}

func (u *usage) read(v []byte) {
	o := parseObject(v)
	if o == nil {
		return
	}
	u.known = o.has("completion_tokens")
	u.prompt, u.completion = int32Of(o.get("prompt_tokens")), int32Of(o.get("completion_tokens"))
	u.cached = int32Of(parseObject(o.get("prompt_tokens_details")).get("cached_tokens"))
}

func (a *answer) choice(index int64) *choice {
	for _, c := range a.choices {
		if c.index == index {
			return c
		}
	}
	c := &choice{index: index, message: formats.Message{Role: "assistant", Parent: -1, Call: -1}}
	a.choices = append(a.choices, c)
	return c
}

func (a *answer) addChoice(raw []byte, position int64) {
	for key, v := range members(raw) {
		if string(key) == "index" {
			if n, err := strconv.ParseInt(string(v), 10, 32); err == nil {
				position = n
			}
			break
		}
	}
	c := a.choice(position)
	at := cursor{b: raw}
	for key := range at.members() {
		switch string(key) {
		case "finish_reason":
			if reason := unquote(at.value()); reason != "" {
				c.finish = reason
			}
		case "message":
			message := at.value()
			readMessage(&c.message, message)
			c.tokens.readMessage(message, a)
		case "delta":
			c.addDelta(at.value())
		case "logprobs":
			c.tokens.readLogprobs(&at)
		case "token_ids":
			c.tokens.addIDs(formats.TokensChoice, at.value())
		case "response_token_ids":
			c.tokens.addIDs(formats.TokensResponse, at.value())
		case "prompt_token_ids":
			a.setPrompt(at.value())
		case "meta_info":
			c.tokens.readMetaInfo(at.value())
		}
	}
}

// done joins what a stream brought in pieces.
func (c *choice) done() {
	m := &c.message
	m.Content += c.text.content.String()
	m.Reasoning += c.text.reasoning.String()
	if text := c.text.refusal.String(); text != "" {
		part, _ := json.Marshal([]map[string]string{{"type": "refusal", "refusal": text}})
		m.ContentParts = string(part)
	}
	m.FinishReason, m.Sampled = c.finish, true
}

func (c *choice) addDelta(raw []byte) {
	o := parseObject(raw)
	if role := unquote(o.get("role")); role != "" {
		c.message.Role = role
	}
	c.text.content.WriteString(unquote(o.get("content")))
	c.text.refusal.WriteString(unquote(o.get("refusal")))
	if thought := unquote(o.get("reasoning_content")); thought != "" {
		c.text.reasoning.WriteString(thought)
	} else {
		c.text.reasoning.WriteString(unquote(o.get("reasoning")))
	}
	for t := range elements(o.get("tool_calls")) {
		c.addToolDelta(t)
	}
}

// addToolDelta joins the pieces of one tool call; pieces name it by index.
func (c *choice) addToolDelta(raw []byte) {
	piece := parseToolCall(raw)
	calls := &c.message.ToolCalls
	at, err := strconv.Atoi(string(parseObject(raw).get("index")))
	if err != nil || at < 0 || at > len(*calls) {
		if at = len(*calls) - 1; piece.ID != "" || at < 0 {
			at = len(*calls)
		}
	}
	if at == len(*calls) {
		*calls = append(*calls, formats.ToolCall{})
	}
	call := &(*calls)[at]
	if piece.ID != "" {
		call.ID = piece.ID
	}
	call.Name += piece.Name
	call.Arguments += piece.Arguments
}

func int32Of(raw []byte) int32 {
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f < 0 || f > math.MaxInt32 {
		return 0
	}
	return int32(f)
}

// withoutNaN replaces NaN, Infinity and -Infinity outside strings by null.
func withoutNaN(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); {
		if b[i] == '"' {
			end := skipString(b, i)
			out = append(out, b[i:end]...)
			i = end
			continue
		}
		word := notANumber(b[i:])
		if word == 0 {
			out = append(out, b[i])
			i++
			continue
		}
		out = append(out, "null"...)
		i += word
	}
	return out
}

func notANumber(b []byte) int {
	for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
		if bytes.HasPrefix(b, []byte(word)) {
			return len(word)
		}
	}
	return 0
}

func excerpt(b []byte) string {
	const most = 200
	if len(b) == 0 {
		return "empty"
	}
	if len(b) > most {
		return strconv.Quote(strings.ToValidUTF8(string(b[:most]), "?")) + "…"
	}
	return strconv.Quote(strings.ToValidUTF8(string(b), "?"))
}
