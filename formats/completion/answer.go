package completion

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// Answer is an engine's answer, assembled from one body or from the chunks of a stream.
type Answer struct {
	Model     string
	PromptIDs []int32 // of the whole prompt; nil when the engine gave none
	Choices   []*Choice
	Usage     Usage
	Err       error // an error that the engine sent in the middle of a stream
	ended     bool  // its stream had the end mark, which suffices where answers may have no finish reason
	segments  segmentList

	AcceptNoFinish bool // the end mark ends the choices of its stream

	cursor cursor // over a chunk, used again for the next
}

// View is what the agent itself requested, and so sees in the answer.
type View struct{ Logprobs, IDs, Usage, Stream bool }

type Usage struct {
	Known                      bool
	Prompt, Completion, Cached int32
}

type Choice struct {
	Index      int64
	Message    formats.Message
	finish     string
	streamed   streamedText
	calls      streamedCalls
	tokens     tokens
	textChunks int  // chunks of a stream with text; about its tokens
	duplicate  bool // a non-streamed answer has two choices with this index
}

type streamedText struct {
	content, reasoning, refusal strings.Builder

	parts [][]byte // of content that is more than text, up to what content has; nil: all is text
}

func (p *streamedText) addList(list []byte) {
	for part := range jsontext.Elements(list) {
		if o := jsontext.ParseObject(part); string(o.Get("type")) == `"text"` {
			addText(&p.content, o.Get("text"))
			continue
		}
		p.closePart()
		p.parts = append(p.parts, []byte(jsontext.Compact(part)))
	}
}

// closePart makes the text after the last part a part.
func (p *streamedText) closePart() {
	if p.content.Len() > 0 {
		text := jsontext.Object{{Key: "text", Raw: jsontext.AppendString(nil, p.content.String())}, {Key: "type", Raw: []byte(`"text"`)}}
		p.parts = append(p.parts, text.Bytes())
		p.content.Reset()
	}
}

// tokens are the sampled tokens, by each source that may have them.
type tokens struct {
	listed   bool // a list of logprobs was present, perhaps empty
	logprobs []float32
	invalid  string               // the first invalid logprob
	ids      [len(sources)]idList // by source
	texts    []string             // of tokens without ids in them
	fallback *tokens              // logprobs from elsewhere than choice.logprobs
}

var ErrNotCompletion = errors.New("the answer is not a chat completion")

// Add reads a whole answer, or one chunk of a stream, and returns what the agent sees of it: without the fields that
// this package requested and the agent did not. Unchanged parts keep their bytes. A chunk with nothing that the agent
// requested becomes empty. NaN and infinities, which Python engines write although JSON has none, are read as missing
// numbers. The result is valid until the next call.
func (a *Answer) Add(body []byte, see View) (seen []byte, err error) {
	c := a.cursor.over(body)
	found, usage := false, false
	count := int64(0)
	for key := range c.members {
		switch string(key) {
		case "model":
			if v := c.value(); len(v) < 2 || string(v[1:len(v)-1]) != a.Model {
				a.Model = jsontext.Unquote(v)
			}
		case "prompt_token_ids":
			a.setPrompt(c.value())
			c.hide = !see.IDs
		case "usage":
			v := c.value()
			usage = usage || string(v) != "null"
			a.Usage.read(v)
			c.hide = see.Stream && !see.Usage && string(v) == "null"
		case "error":
			if string(c.value()) != "null" {
				a.Err = fmt.Errorf("the engine reported: %s", ErrorText(body))
			}
		case "choices":
			found = true
			for more := c.open('['); more; more = c.more(']') {
				a.addChoice(c, count, see)
				count++
			}
		}
	}
	switch {
	case !c.end():
		return nil, fmt.Errorf("%w: not JSON: %s", ErrNotCompletion, Excerpt(body))
	case !found && a.Err == nil:
		return nil, fmt.Errorf("%w: no choices: %s", ErrNotCompletion, Excerpt(body))
	case see.Stream && !see.Usage && usage && count == 0:
		return nil, nil
	}
	return c.visible(), nil
}

func (a *Answer) setPrompt(v []byte) {
	if ids, ok := AppendIDs(nil, v); ok && a.PromptIDs == nil {
		a.PromptIDs = ids
	}
}

func (u *Usage) read(v []byte) {
	o := jsontext.ParseObject(v)
	if o == nil {
		return
	}
	u.Known = o.Has("completion_tokens")
	u.Prompt, u.Completion = ParseCount(o.Get("prompt_tokens")), ParseCount(o.Get("completion_tokens"))
	u.Cached = ParseCount(jsontext.ParseObject(o.Get("prompt_tokens_details")).Get("cached_tokens"))
}

func (a *Answer) choice(index int64) *Choice {
	for _, c := range a.Choices {
		if c.Index == index {
			return c
		}
	}
	c := &Choice{Index: index, Message: formats.Message{Role: "assistant", Parent: -1, Call: -1}}
	a.Choices = append(a.Choices, c)
	return c
}

func (a *Answer) addChoice(at *cursor, position int64, see View) {
	for key, v := range jsontext.Members(at.b[at.i:]) {
		if string(key) == "index" {
			if n, err := strconv.ParseInt(string(v), 10, 32); err == nil {
				position = n
			}
			break
		}
	}
	before := len(a.Choices)
	c := a.choice(position)
	c.duplicate = c.duplicate || !see.Stream && len(a.Choices) == before
	for key := range at.members {
		switch string(key) {
		case "finish_reason":
			if reason := jsontext.Unquote(at.value()); reason != "" {
				c.finish = reason
			}
		case "message":
			message := at.value()
			chat.AddToMessage(&c.Message, message, jsontext.Unquote)
			c.tokens.readMessage(at, message, a, see)
		case "delta":
			from := at.i
			tokens := c.addDelta(at)
			if at.i-from > len("{}") {
				c.textChunks++
			}
			if tokens && !at.bad {
				c.tokens.readMessage(at, at.b[from:at.i], a, see)
			}
		case "text":
			c.streamed.content.WriteString(jsontext.Unquote(at.value()))
		case "logprobs":
			from := at.i
			c.tokens.readLogprobs(at)
			if !see.Logprobs && !at.bad && string(at.b[from:at.i]) != "null" {
				at.cut(from, at.i, "null")
			}
		case "token_ids":
			c.tokens.readIDs(choiceIDs, at.value())
			at.hide = !see.IDs
		case "response_token_ids":
			c.tokens.readIDs(responseIDs, at.value())
			at.hide = !see.IDs
		case "prompt_token_ids":
			a.setPrompt(at.value())
			at.hide = !see.IDs
		case "meta_info":
			c.tokens.readMetaInfo(at.value())
		case "provider_specific_fields":
			from := at.i
			if rest, less := c.tokens.readProvider(at.value(), movedIDs, a, see); less {
				if at.hide = len(rest) == 0; !at.hide {
					at.cut(from, at.i, string(rest.Bytes()))
				}
			}
		}
	}
}

// Assemble completes the message with the texts of a stream.
func (c *Choice) Assemble() {
	m := &c.Message
	if c.streamed.parts != nil {
		c.streamed.closePart()
		list := slices.Concat([]byte("["), bytes.Join(c.streamed.parts, []byte(",")), []byte("]"))
		chat.AddContent(m, &formats.Message{Content: chat.JoinedText(list), ContentParts: string(list)})
	} else {
		chat.AddContent(m, &formats.Message{Content: c.streamed.content.String()})
	}
	m.Reasoning += c.streamed.reasoning.String()
	if text := c.streamed.refusal.String(); text != "" {
		chat.AddContent(m, &formats.Message{ContentParts: chat.Refusal(text)})
	}
	c.calls.sort(m)
	m.FinishReason, m.Sampled = c.finish, true
}

// addDelta adds a piece of the message, and reports whether it may contain tokens, as NeMo's do.
func (c *Choice) addDelta(at *cursor) (tokens bool) {
	thought := false
	for more := at.open('{'); more; more = at.more('}') {
		key, v := at.key(), at.value()
		if at.bad {
			break
		}
		switch string(key) {
		case "role":
			if role := jsontext.Unquote(v); role != "" {
				c.Message.Role = role
			}
		case "content":
			if v[0] == '[' {
				c.streamed.addList(v)
			} else {
				addText(&c.streamed.content, v)
			}
		case "refusal":
			addText(&c.streamed.refusal, v)
		case "reasoning_content", "reasoning":
			if !thought { // some engines send both
				thought = addText(&c.streamed.reasoning, v)
			}
		case "tool_calls":
			for t := range jsontext.Elements(v) {
				c.calls.add(&c.Message, t)
			}
		case "function_call":
			c.calls.addFunction(&c.Message, v)
		case "generation_token_ids", "generation_log_probs", "prompt_token_ids", "provider_specific_fields":
			tokens = true
		}
	}
	return tokens
}

// addText adds a piece of text and reports whether it was a string with text.
func addText(to *strings.Builder, raw []byte) bool {
	if len(raw) <= 2 || raw[0] != '"' {
		return false
	}
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		to.Write(raw[1 : len(raw)-1])
	} else {
		to.WriteString(jsontext.Unquote(raw))
	}
	return true
}

// Finished reports whether at least n choices have ended.
func (a *Answer) Finished(n int) bool {
	for _, c := range a.Choices {
		if c.finish != "" || a.ended {
			n--
		}
	}
	return n <= 0
}

// HasOutput reports whether a stream has text or a call yet.
func (c *Choice) HasOutput() bool {
	return c.streamed.content.Len() > 0 || c.streamed.reasoning.Len() > 0 || c.streamed.refusal.Len() > 0 ||
		len(c.Message.ToolCalls) > 0
}

// HasLogprobs reports whether a stream has a list of logprobs yet, perhaps an empty one.
func (c *Choice) HasLogprobs() bool { return c.tokens.listed }

// AmbiguousCalls reports whether clients may read the tool calls of its stream in several ways.
func (c *Choice) AmbiguousCalls() bool { return c.calls.ambiguous }

// CountTokens estimates the sampled tokens of an answer without usage.
func (a *Answer) CountTokens() (n int32) {
	for _, c := range a.Choices {
		ids, _ := c.tokens.bestIDs()
		n += int32(max(len(c.tokens.withLogprobs().logprobs), len(ids), c.textChunks))
	}
	return n
}
