package recorder

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// api is one of the APIs of a model: what differs between them.
type api struct {
	name  string
	route string                                  // where agents call it, below /v1
	path  string                                  // where the engine is asked
	parse func(q *request) error                  // the prompt, as messages
	ask   func(q *request)                        // requests logprobs
	made  *madeForm                               // how the agent's stream is made of the answer; nil: the engine's stream is the agent's
	show  func(q *request, r *reply) []byte       // what the agent sees of an answer of chat completions; nil: what the engine sent
	block func(q *request, p piece, k int) []byte // the same of one text or reasoning, the k-th of its kind; nil like show
}

var (
	chatAPI = api{name: "chat", route: "/chat/completions", path: "/chat/completions", parse: parseChat, ask: askChat}

	completionsAPI = api{name: "completions", route: "/completions", path: "/completions", parse: parseCompletion, ask: askCompletion}

	messagesAPI = api{name: "messages", route: "/messages", path: "/chat/completions", parse: parseMessages, ask: askChat, made: messageForm, show: asMessage, block: messageBlock}

	responsesAPI = api{name: "responses", route: "/responses", path: "/chat/completions", parse: parseResponses, ask: askChat, made: responseForm, show: asResponse, block: responseBlock}
)

func parseChat(q *request) error {
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

func askChat(q *request) {
	q.fields.Set("logprobs", []byte("true"))
	if string(q.fields.Get("top_logprobs")) == "0" {
		q.fields.Drop("top_logprobs") // the default; llama-server reads a 0 as no logprobs at all
	}
}

// parseCompletion reads a prompt without roles. It is recorded as a user
// message, and the answer as an assistant message: their texts, in order, are
// what the model saw. A prompt that begins with an earlier prompt and its
// answer continues them; the tree splits it there.
func parseCompletion(q *request) error {
	q.view.logprobs = q.fields.Has("logprobs")
	prompt := q.fields.Get("prompt")
	if len(prompt) > 0 && prompt[0] == '[' {
		list := slices.Collect(jsontext.Elements(prompt))
		if len(list) == 1 && len(list[0]) > 0 && (list[0][0] == '"' || list[0][0] == '[') {
			prompt = list[0] // one prompt in a list
		}
	}
	m := formats.Message{Role: "user", Parent: -1, Call: -1}
	switch {
	case len(prompt) > 0 && prompt[0] == '"':
		m.Content = jsontext.Unquote(prompt)
	case len(prompt) > 0 && prompt[0] == '[':
		ids, ok := parseIDs(prompt)
		if !ok {
			return errors.New(`rollmill records one prompt a request: "prompt" is a text, or a list of token ids`)
		}
		q.promptIDs = ids
		m.ContentParts = fmt.Sprintf(`[{"type":"token_ids","token_ids":%s}]`, jsontext.Compact(prompt))
	default:
		return errors.New(`the request has no "prompt"`)
	}
	q.messages, q.raw = []formats.Message{m}, true
	return nil
}

func askCompletion(q *request) {
	if !q.fields.Has("logprobs") {
		q.fields.Set("logprobs", []byte("1"))
	}
}
