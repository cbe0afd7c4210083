package apis

import (
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// AnswerOf returns the API whose answers, or events of streams, have the form of an object; nil if its members do not tell.
// OpenAI's errors are those of three APIs.
func AnswerOf(o jsontext.Object) *API {
	kind := jsontext.Unquote(o.Get("type"))
	for choice := range jsontext.Elements(o.Get("choices")) {
		if jsontext.ParseObject(choice).Has("text") {
			return Completions
		}
	}
	switch {
	case jsontext.Unquote(o.Get("object")) == "text_completion":
		return Completions
	case o.Has("choices"):
		return Chat
	case jsontext.Unquote(o.Get("object")) == "response", responsesEvent(kind):
		return Responses
	case kind == "message", kind == "error" && o.Has("error"), slices.Contains(messagesKinds, kind):
		return Messages
	}
	return nil
}

// ReadAnswer reads an answer of an API as its clients get it: a whole body, or, of a stream, the data of all events.
// choices is how many were asked for. A *completion.Failure is the error of a call that was not answered, or not to the
// end; any other error is that of an answer that cannot be read.
func (a *API) ReadAnswer(data [][]byte, stream bool, choices int) (*completion.Answer, error) {
	switch {
	case a == Messages && stream:
		return readMessagesEvents(data)
	case a == Messages:
		return readMessages(jsontext.ParseObject(data[0]))
	case a == Responses && stream:
		return readResponsesEvents(data)
	case a == Responses:
		return readResponse(jsontext.ParseObject(data[0]))
	}
	out := &completion.Answer{}
	for _, body := range data {
		if string(body) == "[DONE]" {
			continue
		}
		if _, err := out.Add(body, completion.View{Stream: stream}); err != nil {
			return nil, err
		}
	}
	switch {
	case out.Err != nil:
		return out, notAnswered("%v", out.Err)
	case stream && !out.Finished(choices):
		return out, errBrokenStream
	case len(out.Choices) == 0:
		return out, notAnswered("the answer has no choices")
	}
	for _, c := range out.Choices {
		c.Assemble()
	}
	return out, nil
}

// answered returns an answer of one choice.
func answered(o jsontext.Object, m formats.Message, finish string, logprobs []byte, usage completion.Usage) *completion.Answer {
	m.Role = "assistant"
	c := completion.NewChoice(m, finish, logprobs)
	c.Assemble()
	return &completion.Answer{Model: jsontext.Unquote(o.Get("model")), Choices: []*completion.Choice{c}, Usage: usage}
}

func notAnswered(format string, args ...any) error {
	return &completion.Failure{Class: outcomes.FailEngine, Text: fmt.Sprintf(format, args...)}
}

var errBrokenStream = notAnswered("the stream broke off before its end")

// failed returns the error that an API's answer or event is.
func failed(body []byte) error {
	return notAnswered("the engine reported: %s", completion.ErrorText(body))
}
