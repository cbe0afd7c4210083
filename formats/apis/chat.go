package apis

import (
	"errors"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/jsontext"
)

var Chat = &API{Name: "chat", Route: "/chat/completions", Path: "/chat/completions", translator: chatTranslator{}}

// chatTranslator forwards OpenAI's Chat Completions API.
type chatTranslator struct {
	forwarded
	chatLogprobs
}

func (chatTranslator) decode(q *Request, _ *StoredResponses) error {
	list := q.Fields.Get("messages")
	if len(list) == 0 || list[0] != '[' {
		return errors.New(`the request has no list "messages"`)
	}
	for raw := range jsontext.Elements(list) {
		q.Messages = append(q.Messages, chat.ReadMessage(raw, jsontext.Unquote))
	}
	q.View.Logprobs = jsontext.IsTrue(q.Fields.Get("logprobs"))
	return nil
}

// SetArguments writes the arguments of some messages into a request of chat completions, which is unchanged otherwise.
func (q *Request) SetArguments(messages []int) {
	list := slices.Collect(jsontext.Elements(q.Fields.Get("messages")))
	for _, i := range messages {
		m := jsontext.ParseObject(list[i])
		calls := slices.Collect(jsontext.Elements(m.Get("tool_calls")))
		for k, raw := range calls {
			call := jsontext.ParseObject(raw)
			call.Set("function", withArguments(call.Get("function"), &q.Messages[i].ToolCalls[k]))
			calls[k] = call.Bytes()
		}
		if calls != nil {
			m.Set("tool_calls", array(calls))
		} else {
			m.Set("function_call", withArguments(m.Get("function_call"), &q.Messages[i].ToolCalls[0]))
		}
		list[i] = m.Bytes()
	}
	q.Fields.Set("messages", array(list))
}

func withArguments(raw []byte, c *formats.ToolCall) []byte {
	return jsontext.ParseObject(raw).With("arguments", encode(c.Arguments)).Bytes()
}

// chatLogprobs is the part of a translator that an API has whose engine is asked as chat completions.
type chatLogprobs struct{}

func (chatLogprobs) askLogprobs(q *Request) {
	q.Fields.Set("logprobs", []byte("true"))
	if string(q.Fields.Get("top_logprobs")) == "0" {
		q.Fields.Drop("top_logprobs") // the default; llama-server reads a 0 as no logprobs at all
	}
}
