package recorder

import (
	"errors"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/jsontext"
)

var chatAPI = &api{name: "chat", route: "/chat/completions", path: "/chat/completions", translator: chatTranslator{}}

// chatTranslator forwards OpenAI's Chat Completions API.
type chatTranslator struct {
	forwarded
	chatLogprobs
}

func (chatTranslator) decode(q *request, _ *storedResponses) error {
	list := q.fields.Get("messages")
	if len(list) == 0 || list[0] != '[' {
		return errors.New(`the request has no list "messages"`)
	}
	for raw := range jsontext.Elements(list) {
		q.messages = append(q.messages, chat.ReadMessage(raw, jsontext.Unquote))
	}
	q.view.logprobs = jsontext.IsTrue(q.fields.Get("logprobs"))
	return nil
}

// setArguments writes the arguments of some messages into a request of chat
// completions, which is unchanged otherwise.
func (q *request) setArguments(messages []int) {
	list := slices.Collect(jsontext.Elements(q.fields.Get("messages")))
	for _, i := range messages {
		m := jsontext.ParseObject(list[i])
		calls := slices.Collect(jsontext.Elements(m.Get("tool_calls")))
		for k, raw := range calls {
			call := jsontext.ParseObject(raw)
			call.Set("function", withArguments(call.Get("function"), &q.messages[i].ToolCalls[k]))
			calls[k] = call.Bytes()
		}
		if calls != nil {
			m.Set("tool_calls", array(calls))
		} else {
			m.Set("function_call", withArguments(m.Get("function_call"), &q.messages[i].ToolCalls[0]))
		}
		list[i] = m.Bytes()
	}
	q.fields.Set("messages", array(list))
}

func withArguments(raw []byte, c *formats.ToolCall) []byte {
	return jsontext.ParseObject(raw).With("arguments", encode(c.Arguments)).Bytes()
}

// chatLogprobs is the part of a translator that an API has whose engine is asked as
// chat completions.
type chatLogprobs struct{}

func (chatLogprobs) askLogprobs(q *request) {
	q.fields.Set("logprobs", []byte("true"))
	if string(q.fields.Get("top_logprobs")) == "0" {
		q.fields.Drop("top_logprobs") // the default; llama-server reads a 0 as no logprobs at all
	}
}
