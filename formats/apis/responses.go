package apis

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// responsesRequest is what a request of the Responses API has beside the chat completion that it becomes.
type responsesRequest struct {
	instructions string            // of this call alone
	continues    *StoredResponse   // nil for none
	input        [][]byte          // items of this call, without references
	custom       map[string]bool   // tools with a text as input
	spaces       map[string]string // full name of a tool -> its namespace
	leftOut      []string          // types of tools that only OpenAI's servers run
	encrypted    bool              // reasoning is shown as "encrypted" content too
	store        bool              // later calls may continue the response
}

const encryptedReasoning = `"reasoning.encrypted_content"`

var Responses = &API{Name: "responses", Route: "/responses", Path: "/chat/completions", translator: responsesTranslator{}}

// responsesTranslator translates OpenAI's Responses API.
type responsesTranslator struct{ chatLogprobs }

// decode turns a request into one of chat completions. Its prompt is completed by
// the calls that it continues, and by the items that it names.
func (responsesTranslator) decode(q *Request, s *StoredResponses) (err error) {
	for v := range jsontext.Elements(q.Fields.Get("include")) {
		q.View.Logprobs = q.View.Logprobs || string(v) == outputLogprobs
		q.responses.encrypted = q.responses.encrypted || string(v) == encryptedReasoning
	}
	q.Previous = jsontext.Unquote(q.Fields.Get("previous_response_id"))
	if q.responses.continues, err = s.Response(q.Previous); err != nil {
		return fmt.Errorf("previous_response_id: %w", err)
	}
	q.responses.instructions = jsontext.Unquote(q.Fields.Get("instructions"))
	switch input := q.Fields.Get("input"); {
	case len(input) > 0 && input[0] == '"':
		q.responses.input = [][]byte{jsontext.Object{field("type", encode("message")), field("role",
			encode("user")), field("content", input)}.Bytes()}
	case len(input) > 0 && input[0] == '[':
		q.responses.input = slices.Collect(jsontext.Elements(input))
	default:
		return errors.New(`the request has no "input"`)
	}
	var t inputReader
	for n, raw := range q.responses.input {
		o := jsontext.ParseObject(raw)
		if id, ok := reference(o); ok {
			if raw = s.item(id); raw == nil {
				return fmt.Errorf("input.%d: this trajectory has no item %q that was stored", n, id)
			}
			q.responses.input[n], o = raw, jsontext.ParseObject(raw)
		}
		if !t.item(o) {
			return fmt.Errorf("input.%d: an item of type %q cannot be given to a chat completions engine", n,
				jsontext.Unquote(o.Get("type")))
		}
	}
	if err := q.convert(q.setFromResponses); err != nil {
		return err
	}
	if q.Tools == "" {
		q.Fields.Drop("tool_choice")
		q.Fields.Drop("parallel_tool_calls")
	}
	if !q.View.Logprobs {
		q.Fields.Drop("top_logprobs")
	} else {
		q.Fields.Set("logprobs", []byte("true"))
	}
	q.responses.store = string(q.Original.Get("store")) != "false"
	var p responsesPrompt
	if q.responses.instructions != "" {
		p.messages = append(p.messages, formats.Message{Role: "system", Content: q.responses.instructions, Parent: -1, Call: -1})
	}
	for _, m := range append(q.responses.continues.messages(), t.messages...) {
		if err := p.add(m); err != nil {
			return fmt.Errorf("input: %w", err)
		}
	}
	q.Messages = p.messages
	return nil
}

// responsesOnly are fields of the Responses API that chat completions do not
// have and that change no prompt of an engine.
var responsesOnly = []string{"input", "instructions", "previous_response_id", "include", "store", "metadata", "truncation",
	"service_tier", "user", "max_tool_calls", "prompt_cache_key", "prompt_cache_retention", "safety_identifier",
	"client_metadata", "background", "enable_response_messages"}

// setFromResponses sets what a field of the Responses API is in chat completions. Fields of the same name, and those
// that only engines have, are unchanged.
func (q *Request) setFromResponses(key string, v []byte) error {
	o := jsontext.ParseObject(v)
	switch {
	case key == "background" && jsontext.IsTrue(v):
		return errors.New("background: the answer is not kept for later; ask for it in the foreground")
	case slices.Contains(responsesOnly, key):
	case key == "conversation" || key == "prompt":
		return fmt.Errorf("%s: only OpenAI's servers keep it; the agent has to send it as input", key)
	case key == "max_output_tokens":
		q.Fields.Set("max_tokens", v)
	case key == "reasoning":
		if o.Has("effort") {
			q.Fields.Set("reasoning_effort", o.Get("effort"))
		}
	case key == "text":
		q.setTextFormat(jsontext.ParseObject(o.Get("format")))
	case key == "tools":
		q.setResponsesTools(v)
	case key == "tool_choice":
		return q.setResponsesToolChoice(v)
	default:
		q.Fields.Set(key, v)
	}
	return nil
}

func (q *Request) setTextFormat(format jsontext.Object) {
	switch jsontext.Unquote(format.Get("type")) {
	case "json_schema":
		name := format.Get("name")
		if name == nil {
			name = encode("output")
		}
		q.setResponseFormat(name, format)
	case "json_object":
		q.Fields.Set("response_format", format.Bytes())
	}
}
