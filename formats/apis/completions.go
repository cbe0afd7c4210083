package apis

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/jsontext"
)

var Completions = &API{Name: "completions", Route: "/completions", Path: "/completions",
	translator: completionsTranslator{}}

// completionsTranslator forwards OpenAI's older Completions API.
type completionsTranslator struct{ forwarded }

// decode reads a prompt without roles. It is recorded as a user message, and the answer as an assistant message: their
// texts, in order, are what the model saw. A prompt that begins with an earlier prompt and its answer continues them;
// the tree splits it there.
func (completionsTranslator) decode(q *Request, _ *StoredResponses) error {
	q.View.Logprobs = q.Fields.Has("logprobs")
	prompt := q.Fields.Get("prompt")
	list := slices.Collect(jsontext.Elements(prompt))
	if len(list) == 1 && len(list[0]) > 0 && (list[0][0] == '"' || list[0][0] == '[') {
		prompt = list[0] // one prompt in a list
	}
	m := formats.Message{Role: "user", Parent: -1, Call: -1}
	switch {
	case len(prompt) > 0 && prompt[0] == '"':
		m.Content = jsontext.Unquote(prompt)
	case len(prompt) > 0 && prompt[0] == '[':
		ids, ok := completion.AppendIDs(nil, prompt)
		if !ok {
			return errors.New(`rollmill records one prompt a request: "prompt" is a text, or a list of token ids`)
		}
		q.PromptIDs = ids
		m.ContentParts = fmt.Sprintf(`[{"type":"token_ids","token_ids":%s}]`, jsontext.Compact(prompt))
	default:
		return errors.New(`the request has no "prompt"`)
	}
	q.Messages, q.PlainText = []formats.Message{m}, true
	return nil
}

func (completionsTranslator) askLogprobs(q *Request) {
	if !q.Fields.Has("logprobs") {
		q.Fields.Set("logprobs", []byte("1"))
	}
}
