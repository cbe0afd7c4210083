package recorder

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/stages/rollout/tree"
)

// outputLogprobs is the value of "include" that requests logprobs.
const outputLogprobs = `"message.output_text.logprobs"`

// responseMessages is the field that makes vLLM add to a response the texts and
// token ids of its prompt and its answer; return_token_ids has no effect there.
const responseMessages = "enable_response_messages"

func askResponse(q *request) {
	if q.view.logprobs {
		return
	}
	var list [][]byte
	for v := range jsontext.Elements(q.fields.Get("include")) {
		list = append(list, v)
	}
	list = append(list, []byte(outputLogprobs))
	q.fields.Set("include", array(list))
}

// array returns a JSON array of values.
func array(list [][]byte) []byte {
	return slices.Concat([]byte("["), bytes.Join(list, []byte(",")), []byte("]"))
}

// parseResponse reads input items. Adjacent items that make up one assistant
// turn (reasoning, text, function calls) become one message.
func parseResponse(q *request) error {
	for v := range jsontext.Elements(q.fields.Get("include")) {
		q.view.logprobs = q.view.logprobs || string(v) == outputLogprobs
	}
	q.view.messages = jsontext.IsTrue(q.fields.Get(responseMessages))
	q.previous = jsontext.Unquote(q.fields.Get("previous_response_id"))
	input := q.fields.Get("input")
	if text := jsontext.Unquote(q.fields.Get("instructions")); text != "" {
		q.messages = append(q.messages, formats.Message{Role: "system", Content: text, Parent: -1, Call: -1})
	}
	switch {
	case len(input) > 0 && input[0] == '"':
		q.messages = append(q.messages, formats.Message{Role: "user", Content: jsontext.Unquote(input), Parent: -1, Call: -1})
	case len(input) > 0 && input[0] == '[':
		var t turnReader
		for raw := range jsontext.Elements(input) {
			if !t.item(jsontext.ParseObject(raw)) { // a reference, a search, an image: kept unchanged
				t.add(formats.Message{Role: "user", ContentParts: "[" + jsontext.Compact(raw) + "]"})
			}
		}
		q.messages = append(q.messages, t.messages...)
	default:
		return errors.New(`the request has no "input"`)
	}
	return nil
}

// turnReader converts items to messages.
type turnReader struct {
	messages []formats.Message
	open     bool // the last message is an assistant turn that may continue
	wrap     bool // the input of a custom tool becomes the argument of a function
}

func (t *turnReader) assistant() *formats.Message {
	if !t.open {
		t.messages = append(t.messages, formats.Message{Role: "assistant", Parent: -1, Call: -1})
		t.open = true
	}
	return &t.messages[len(t.messages)-1]
}

// add adds a message that is no assistant turn.
func (t *turnReader) add(m formats.Message) {
	m.Parent, m.Call = -1, -1
	t.messages, t.open = append(t.messages, m), false
}

// item adds an item, and reports whether its type is known.
func (t *turnReader) item(o jsontext.Object) bool {
	switch kind := jsontext.Unquote(o.Get("type")); kind {
	case "reasoning", "function_call", "custom_tool_call":
		m := t.assistant()
		readItem(m, o)
		if kind == "custom_tool_call" && t.wrap {
			call := &m.ToolCalls[len(m.ToolCalls)-1]
			call.Arguments = string(customArguments(call.Arguments))
		}
	case "message", "":
		if jsontext.Unquote(o.Get("role")) == "assistant" {
			readItem(t.assistant(), o)
			break
		}
		var m formats.Message
		readItem(&m, o)
		t.add(m)
	case "function_call_output", "custom_tool_call_output":
		m := formats.Message{Role: "tool", ToolCallID: jsontext.Unquote(o.Get("call_id"))}
		chat.ReadContent(&m, orEmpty(o.Get("output")))
		t.add(m)
	default:
		return false
	}
	return true
}

func orEmpty(raw []byte) []byte {
	if len(raw) == 0 {
		return []byte(`""`)
	}
	return raw
}

// readItem adds one item of a response to m.
func readItem(m *formats.Message, o jsontext.Object) {
	switch jsontext.Unquote(o.Get("type")) {
	case "reasoning":
		for _, key := range []string{"content", "summary"} {
			var text string
			for part := range jsontext.Elements(o.Get(key)) {
				text += jsontext.Unquote(jsontext.ParseObject(part).Get("text"))
			}
			if text != "" {
				m.Reasoning += text
				return
			}
		}
		m.Reasoning += unsealReasoning(jsontext.Unquote(o.Get("encrypted_content")))
	case "function_call":
		m.ToolCalls = append(m.ToolCalls, formats.ToolCall{ID: jsontext.Unquote(o.Get("call_id")), Name: fullName(o), Arguments: jsontext.Unquote(o.Get("arguments"))})
	case "custom_tool_call":
		m.ToolCalls = append(m.ToolCalls, formats.ToolCall{ID: jsontext.Unquote(o.Get("call_id")), Name: fullName(o), Arguments: jsontext.Unquote(o.Get("input"))})
	default:
		if role := jsontext.Unquote(o.Get("role")); role != "" {
			m.Role = role
		}
		var part formats.Message
		chat.ReadContent(&part, orEmpty(o.Get("content")))
		if tree.TextOnly(part.ContentParts) {
			part.ContentParts = ""
		}
		chat.AddContent(m, &part)
	}
}

// fullName returns the name of a function, after that of its namespace if it has
// one.
func fullName(o jsontext.Object) string {
	name := jsontext.Unquote(o.Get("name"))
	if space := jsontext.Unquote(o.Get("namespace")); space != "" {
		return space + "__" + name
	}
	return name
}

// readResponse reads the whole response of a stream's last event, or of an
// answer.
func (a *answer) readResponse(c *cursor, see view) {
	var choice *choice
	turns, ids, known := 0, []int32(nil), false // of output_messages
	for key, e := range c.object {
		switch string(key) {
		case "id":
			a.id = jsontext.Unquote(c.value())
		case "model":
			a.model = jsontext.Unquote(c.value())
		case "status":
			a.status = jsontext.Unquote(c.value())
		case "incomplete_details":
			a.incomplete = jsontext.Unquote(jsontext.ParseObject(c.value()).Get("reason"))
		case "usage":
			a.usage.read(c.value(), "input", "output")
		case "error":
			if v := c.value(); string(v) != "null" && len(v) > 0 {
				a.err = fmt.Errorf("the engine reported: %s", errorText(slices.Concat([]byte(`{"error":`), v, []byte("}"))))
			}
		case "prompt_token_ids":
			a.setPrompt(c.value())
			e.hide(!see.ids)
		case "token_ids", "output_token_ids":
			choice = a.choice(0)
			choice.tokens.addIDs(choiceIDs, c.value())
			e.hide(!see.ids)
		case "input_messages":
			prompt, ok := tokensOf(c.value(), &turns)
			if turns == 1 && ok && a.prompt == nil {
				a.prompt = prompt
			}
			e.hide(!see.messages)
		case "output_messages":
			ids, known = tokensOf(c.value(), new(int))
			e.hide(!see.messages)
		case "output":
			choice = a.choice(0)
			choice.response = true
			choice.message, choice.tokens.logprobs, choice.tokens.listed = formats.Message{Role: "assistant", Parent: -1, Call: -1}, nil, false
			choice.tokens.texts, choice.tokens.textEnds = nil, nil
			for range c.elements() {
				choice.readOutput(c, a, see)
			}
		}
	}
	if choice != nil && known && turns <= 1 { // with several turns, each has a prompt of its own
		choice.tokens.put(outputIDs, ids...)
	}
	if choice == nil || a.status == "" || a.status == "in_progress" || a.status == "queued" {
		return
	}
	switch {
	case a.incomplete == "max_output_tokens":
		choice.finish = "length"
	case a.incomplete != "":
		choice.finish = a.incomplete
	case a.status == "completed" && len(choice.message.ToolCalls) > 0:
		choice.finish = "tool_calls"
	case a.status == "completed":
		choice.finish = "stop"
	default:
		choice.finish = a.status
	}
}

// tokensOf joins the token ids of vLLM's raw messages and counts the messages;
// ok reports whether all have ids.
func tokensOf(list []byte, count *int) (ids []int32, ok bool) {
	ok = true
	for raw := range jsontext.Elements(list) {
		*count++
		some, found := parseIDs(jsontext.ParseObject(raw).Get("tokens"))
		ids, ok = append(ids, some...), ok && found
	}
	return ids, ok && len(ids) > 0
}

// readOutput reads one item of an answer.
func (c *choice) readOutput(at *cursor, a *answer, see view) {
	from := at.i
	for key := range at.members() {
		if string(key) != "content" {
			continue
		}
		for range at.elements() {
			for key, e := range at.object {
				if string(key) != "logprobs" {
					continue
				}
				start := at.i
				c.tokens.readEntries(at)
				if !see.logprobs && !at.bad && at.i-start > len("[]") {
					e.write(start, at.i, "[]")
				}
			}
		}
	}
	if at.bad {
		return
	}
	raw := at.b[from:at.i]
	readItem(&c.message, jsontext.ParseObject(raw))
	c.tokens.readMessage(raw, a) // NeMo Gym puts tokens into items
}

// addResponse reads a whole response, or one event of a stream. A stream's last
// event contains the whole response; its pieces matter only for logprobs, which
// some engines send there alone.
func (a *answer) addResponse(body []byte, see view) ([]byte, error) {
	c := a.cursor.over(body)
	if !see.stream {
		a.readResponse(c, see)
		return a.afterResponse(c, see, len(a.choices) > 0)
	}
	kind := ""
	for k, v := range jsontext.Members(body) {
		if string(k) == "type" {
			kind = jsontext.Unquote(v)
			break
		}
	}
	for key, e := range c.object {
		switch string(key) {
		case "response":
			before := len(a.choices)
			a.readResponse(c, see)
			if kind != "response.completed" && kind != "response.incomplete" && kind != "response.failed" {
				a.choices = a.choices[:before] // an early event; the last one contains everything
			} else if len(a.choices) > 0 {
				a.choices[0].streamed = true
			}
		case "logprobs":
			start := c.i
			if kind == "response.output_text.delta" {
				a.pieces().readEntries(c)
			} else {
				c.value()
			}
			if !see.logprobs && !c.bad && c.i-start > len("[]") {
				e.write(start, c.i, "[]")
			}
		case "part", "item":
			stripParts(c, see)
		case "message":
			if v := c.value(); kind == "error" {
				a.err = fmt.Errorf("the engine reported: %s", jsontext.Unquote(v))
			}
		}
	}
	return a.afterResponse(c, see, true)
}

// pieces returns the place for the logprobs of a stream's pieces, in case its
// last event has none.
func (a *answer) pieces() *tokens {
	if a.streamed == nil {
		a.streamed = &tokens{}
	}
	return a.streamed
}

// stripParts empties the logprobs in an event's part or item.
func stripParts(c *cursor, see view) {
	for key, e := range c.object {
		start := c.i
		switch string(key) {
		case "logprobs":
			if c.value(); !see.logprobs && !c.bad && c.i-start > len("[]") {
				e.write(start, c.i, "[]")
			}
		case "content":
			for range c.elements() {
				stripParts(c, see)
			}
		}
	}
}

func (a *answer) afterResponse(c *cursor, see view, found bool) ([]byte, error) {
	switch {
	case !c.end():
		return nil, fmt.Errorf("%w: not JSON: %s", errGarbage, excerpt(c.b))
	case !found && a.err == nil:
		return nil, fmt.Errorf("%w: no output: %s", errGarbage, excerpt(c.b))
	}
	if len(a.choices) > 0 && a.streamed != nil && len(a.choices[0].tokens.logprobs) == 0 {
		t := &a.choices[0].tokens
		t.fallback = a.streamed
		if ids, _ := t.best(); len(ids) == 0 {
			t.found = a.streamed.found
		}
	}
	return a.see(see), nil
}
