package apis

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// readResponse reads a whole answer of the Responses API, as its items are read when an agent sends them again.
func readResponse(o jsontext.Object) (*completion.Answer, error) {
	finish := "stop"
	switch status := jsontext.Unquote(o.Get("status")); status {
	case "completed", "":
	case "incomplete":
		reason := jsontext.Unquote(jsontext.ParseObject(o.Get("incomplete_details")).Get("reason"))
		finish = cmp.Or(map[string]string{"max_output_tokens": "length"}[reason], reason)
	case "failed":
		return nil, failed(o.Bytes())
	default:
		return nil, notAnswered("the response is %s", status)
	}
	t := inputReader{}
	var logprobs []byte
	m := t.assistant()
	for raw := range jsontext.Elements(o.Get("output")) {
		item := jsontext.ParseObject(raw)
		if !t.item(item) || len(t.messages) > 1 {
			return nil, fmt.Errorf("an item of type %q is not an answer of a chat completions engine", jsontext.Unquote(item.Get("type")))
		}
		for part := range jsontext.Elements(item.Get("content")) {
			if list := jsontext.ParseObject(part).Get("logprobs"); len(list) > len("[]") {
				logprobs = list
			}
		}
	}
	if m = &t.messages[0]; len(m.ToolCalls) > 0 && finish == "stop" {
		finish = "tool_calls"
	}
	var p responsesPrompt
	if err := p.add(*m); err != nil {
		return nil, err
	}
	usage := jsontext.ParseObject(o.Get("usage"))
	count := func(o jsontext.Object, name string) int32 { return completion.ParseCount(o.Get(name)) }
	return answered(o, p.messages[0], finish, logprobs, completion.Usage{Known: usage.Has("output_tokens"),
		Prompt: count(usage, "input_tokens"), Completion: count(usage, "output_tokens"),
		Cached: count(jsontext.ParseObject(usage.Get("input_tokens_details")), "cached_tokens")}), nil
}

func responsesEvent(kind string) bool { return strings.HasPrefix(kind, "response.") }

// readResponsesEvents reads the response that the last event has.
func readResponsesEvents(data [][]byte) (*completion.Answer, error) {
	for _, body := range data {
		e := jsontext.ParseObject(body)
		switch kind := jsontext.Unquote(e.Get("type")); kind {
		case "error":
			return nil, failed(body)
		case "response.completed", "response.incomplete", "response.failed":
			return readResponse(jsontext.ParseObject(e.Get("response")))
		}
	}
	return nil, errBrokenStream
}
