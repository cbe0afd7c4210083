package recorder

import (
	"errors"

	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/jsontext"
)

var chatAPI = &api{name: "chat", route: "/chat/completions", path: "/chat/completions", translator: chatTranslator{}}

// chatTranslator forwards OpenAI's Chat Completions API.
type chatTranslator struct {
	forwarded
	chatLogprobs
}

func (chatTranslator) decode(q *request, _ *Session) error {
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
