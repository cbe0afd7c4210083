package gateway

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// answer is what came back from an engine: a body, or what the events of a stream have. Its zero value is nothing.
type answer struct {
	api    *apis.API // whose form it has; nil: of an error that several have
	data   []jsontext.Object
	stream bool
	cut    bool // in the middle of its text
}

// receive reads a response: a body or its text, the text of an event stream, or the list of a stream's chunks, each an
// object or a piece of that text. That of a call that failed may have any form.
func receive(field string, v []byte, failed bool) (a answer) {
	if v = unpacked(v); empty(v) {
		return a
	}
	text := jsontext.Unquote(v)
	a.cut = strings.HasPrefix(strings.TrimSpace(text), "{")
	if a.stream = v[0] != '{'; v[0] == '[' {
		for chunk := range jsontext.Elements(v) {
			if text += jsontext.Unquote(chunk); chunk[0] != '"' {
				a.data = append(a.data, must.Object(field, chunk))
			}
		}
	} else if v[0] != '"' {
		a.data = append(a.data, must.Object(field, v))
	}
	for events := completion.NewEventReader(strings.NewReader(text+"\n\n"), nil); text != "" && !a.cut; {
		e, err := events.Next()
		if err == io.EOF {
			break
		}
		if err == nil && jsontext.Valid(e.Data) && jsontext.ParseObject(e.Data) != nil {
			a.data = append(a.data, jsontext.ParseObject(slices.Clone(e.Data)))
		} else {
			a.cut = err != nil || e.Data != nil && !e.Last()
		}
	}
	for _, o := range a.data {
		if a.api = formOf(o); a.api != nil || o.Has("error") {
			return a
		}
	}
	if !failed && !a.cut {
		must.Fail("%s is %s, not an answer or an event stream of a known API", field, importers.Brief(v))
	}
	return a
}

// formOf returns the API whose answers, or events of streams, have the form of an object; nil if it does not tell.
func formOf(o jsontext.Object) *apis.API {
	kind, object := jsontext.Unquote(o.Get("type")), jsontext.Unquote(o.Get("object"))
	switch {
	case object == "text_completion":
		return apis.Completions
	case o.Has("choices"):
		return apis.Chat
	case object == "response", strings.HasPrefix(kind, "response."):
		return apis.Responses
	case kind == "message", kind == "message_start", kind == "error" && o.Has("error"):
		return apis.Messages
	}
	return nil
}

// id returns the engine's own id of the answer, "" for none: of its body, or of the first event that has one.
func (a answer) id() string {
	for _, o := range a.data {
		for _, within := range []string{"message", "response"} {
			id := cmp.Or(jsontext.Unquote(o.Get("id")), jsontext.Unquote(jsontext.ParseObject(o.Get(within)).Get("id")))
			if id != "" {
				return id
			}
		}
	}
	return ""
}

// read reads the answer, or the reason why there is none; then it is what came of it, or nil.
func (a answer) read(choices int) (out *completion.Answer, f *completion.Failure) {
	if len(a.data) == 0 && !a.cut {
		return nil, refusedBy(0, "the log has no response to it")
	}
	for _, o := range a.data {
		if v := o.Get("error"); len(v) > 0 && string(v) != "null" || jsontext.Unquote(o.Get("type")) == "error" {
			f = refusedBy(0, "the engine reported: "+completion.ErrorText(o.Bytes()))
		}
	}
	if f == nil && a.cut {
		f = refusedBy(0, "the answer is cut before its end")
	}
	if f == nil && (a.api == apis.Messages || a.api == apis.Responses) {
		return a.translated()
	}
	out = &completion.Answer{}
	for _, o := range a.data {
		if _, err := out.Add(o.Bytes(), completion.View{Stream: a.stream}); err != nil && f == nil {
			must.Fail("its response cannot be read: %v", err)
		}
	}
	switch {
	case f != nil:
	case a.stream && !out.Finished(choices):
		f = refusedBy(0, brokeOff)
	case len(out.Choices) == 0:
		f = refusedBy(0, "the answer has no choices")
	}
	return out, f
}

const brokeOff = "the stream broke off before its end"

// translated reads an answer of the Messages or Responses API as chat completions have it. Its content is read as an
// agent sends it again: what is recorded of the answer and of later prompts is the same.
func (a answer) translated() (*completion.Answer, *completion.Failure) {
	o := a.data[0]
	if a.stream && a.api == apis.Messages {
		o = messagesStream(a.data)
	} else if a.stream {
		ends := []string{"response.completed", "response.incomplete", "response.failed"}
		last := a.data[len(a.data)-1]
		if o = nil; slices.Contains(ends, jsontext.Unquote(last.Get("type"))) {
			o = jsontext.ParseObject(last.Get("response"))
		}
	}
	if o == nil {
		return nil, refusedBy(0, brokeOff)
	}
	request := jsontext.Object{{Key: "input", Raw: value.OrNull(o.Get("output"))}}
	if a.api == apis.Messages {
		turn := `[{"role":"assistant","content":` + string(value.OrNull(o.Get("content"))) + `}]`
		request = jsontext.Object{{Key: "messages", Raw: []byte(turn)}}
	}
	q, err := apis.ParseRequest(a.api, request.Bytes(), &apis.StoredResponses{})
	if err == nil && (len(q.Messages) > 1 || len(q.Messages) == 1 && q.Messages[0].Role != "assistant") {
		err = errors.New("it is more than one answer")
	}
	if err != nil {
		must.Fail("its response cannot be read: %v", err)
	}
	m := append(q.Messages, formats.Message{Role: "assistant", Parent: -1, Call: -1})[0]
	choice := jsontext.Object{{Key: "finish_reason", Raw: importers.Quote(finish(o, len(m.ToolCalls) > 0))}}
	for item := range jsontext.Elements(o.Get("output")) {
		for part := range jsontext.Elements(jsontext.ParseObject(item).Get("content")) {
			if list := jsontext.ParseObject(part).Get("logprobs"); len(list) > len("[]") {
				choice.Set("logprobs", jsontext.Object{{Key: "content", Raw: list}}.Bytes())
			}
		}
	}
	o.Set("choices", []byte("["+string(choice.Bytes())+"]"))
	out := &completion.Answer{}
	if _, err := out.Add(o.Bytes(), completion.View{}); err != nil {
		must.Fail("its response cannot be read: %v", err)
	}
	out.Choices[0].Message = m
	if usage := jsontext.ParseObject(o.Get("usage")); usage.Has("output_tokens") { // LiteLLM has that of chat
		count := func(name string) int32 { return completion.ParseCount(usage.Get(name)) }
		cached := count("cache_read_input_tokens") // of Anthropic, which counts them apart
		details := jsontext.ParseObject(usage.Get("input_tokens_details"))
		out.Usage = completion.Usage{Known: true, Completion: count("output_tokens"),
			Prompt: count("input_tokens") + cached + count("cache_creation_input_tokens"),
			Cached: cached + completion.ParseCount(details.Get("cached_tokens"))}
	}
	return out, nil
}

// finish returns why an answer ended, as chat completions name it.
func finish(o jsontext.Object, calls bool) string {
	reason := jsontext.Unquote(o.Get("stop_reason"))
	if status := jsontext.Unquote(o.Get("status")); status != "" {
		reason = status
		if status == "incomplete" {
			reason = jsontext.Unquote(jsontext.ParseObject(o.Get("incomplete_details")).Get("reason"))
		}
	}
	switch ends := outcomes.Finish(reason, nil); {
	case ends == outcomes.FinishEnded && calls:
		return "tool_calls"
	case ends == outcomes.FinishEnded:
		return "stop"
	case ends == outcomes.FinishTruncated:
		return "length"
	}
	return reason
}

// messagesStream returns the message that the events of a stream are; nil if they have no end.
func messagesStream(events []jsontext.Object) (o jsontext.Object) {
	var blocks []string
	var block, usage jsontext.Object
	add := func(name string, text []byte) {
		if len(text) > len(`""`) {
			block.Set(name, importers.Quote(jsontext.Unquote(block.Get(name))+jsontext.Unquote(text)))
		}
	}
	for _, e := range events {
		delta := jsontext.ParseObject(e.Get("delta"))
		for _, f := range jsontext.ParseObject(e.Get("usage")) {
			usage.Set(f.Key, f.Raw)
		}
		switch jsontext.Unquote(e.Get("type")) {
		case "message_start":
			o = jsontext.ParseObject(e.Get("message"))
			usage = jsontext.ParseObject(o.Get("usage"))
		case "content_block_start":
			block = jsontext.ParseObject(e.Get("content_block"))
		case "content_block_delta":
			add("text", delta.Get("text"))
			add("thinking", delta.Get("thinking"))
			add("input", delta.Get("partial_json"))
		case "content_block_stop":
			if text := block.Get("input"); len(text) > 0 && text[0] == '"' {
				input := []byte(jsontext.Unquote(text))
				if !jsontext.Valid(input) { // cut short
					input = jsontext.Object{{Key: "arguments", Raw: text}}.Bytes()
				}
				block.Set("input", input)
			}
			blocks = append(blocks, string(block.Bytes()))
		case "message_delta":
			o.Set("stop_reason", value.OrNull(delta.Get("stop_reason")))
		case "message_stop":
			o.Set("usage", usage.Bytes())
			o.Set("content", []byte("["+strings.Join(blocks, ",")+"]"))
			return o
		}
	}
	return nil
}
