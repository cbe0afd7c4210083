package apis

import (
	"cmp"
	"errors"

	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// readMessages reads a whole answer of the Messages API.
func readMessages(o jsontext.Object) (*completion.Answer, error) {
	if jsontext.Unquote(o.Get("type")) == "error" {
		return nil, failed(o.Bytes())
	}
	var p messagesPrompt
	p.beginMessage("assistant")
	for raw := range jsontext.Elements(o.Get("content")) {
		if err := p.block(jsontext.ParseObject(raw)); err != nil {
			return nil, err
		}
	}
	return p.answer(o)
}

// answer returns the answer that the blocks so far are. Its finish reasons are those of chat completions.
func (p *messagesPrompt) answer(o jsontext.Object) (*completion.Answer, error) {
	if p.endMessage(true); len(p.messages) > 1 {
		return nil, errors.New("a result of a tool is among the blocks of an answer")
	}
	usage := jsontext.ParseObject(o.Get("usage"))
	count := func(name string) int32 { return completion.ParseCount(usage.Get(name)) }
	cached := count("cache_read_input_tokens")
	stop := jsontext.Unquote(o.Get("stop_reason"))
	finish := cmp.Or(map[string]string{"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "tool_use": "tool_calls",
		"refusal": "content_filter"}[stop], stop)
	return answered(o, p.messages[0], finish, nil, completion.Usage{Known: usage.Has("output_tokens"), Cached: cached,
		Prompt: count("input_tokens") + cached + count("cache_creation_input_tokens"), Completion: count("output_tokens")}), nil
}

var messagesKinds = []string{"message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta",
	"message_stop", "ping"}

// messagesTexts are the members of a block to which a delta adds, by the member of the delta.
var messagesTexts = [][2]string{{"text", "text"}, {"thinking", "thinking"}, {"partial_json", "input"}}

// readMessagesEvents reads an answer of the Messages API from its events.
func readMessagesEvents(data [][]byte) (*completion.Answer, error) {
	var top, block jsontext.Object
	var p messagesPrompt
	p.beginMessage("assistant")
	texts := map[string]string{}
	for _, body := range data {
		e := jsontext.ParseObject(body)
		switch jsontext.Unquote(e.Get("type")) {
		case "error":
			return nil, failed(body)
		case "message_start":
			top = jsontext.ParseObject(e.Get("message"))
		case "content_block_start":
			block = jsontext.ParseObject(e.Get("content_block"))
			clear(texts)
		case "content_block_delta":
			delta := jsontext.ParseObject(e.Get("delta"))
			for _, name := range messagesTexts {
				texts[name[1]] += jsontext.Unquote(delta.Get(name[0]))
			}
		case "content_block_stop":
			for name, text := range texts {
				switch {
				case text == "":
				case name == "input":
					block.Set(name, []byte(text)) // perhaps cut short: arguments are text
				default:
					block.Set(name, encode(jsontext.Unquote(block.Get(name))+text))
				}
			}
			if err := p.block(block); err != nil {
				return nil, err
			}
		case "message_delta":
			for _, f := range jsontext.ParseObject(e.Get("delta")) {
				top.Set(f.Key, f.Raw)
			}
			usage := jsontext.ParseObject(top.Get("usage"))
			for _, f := range jsontext.ParseObject(e.Get("usage")) {
				usage.Set(f.Key, f.Raw)
			}
			top.Set("usage", usage.Bytes())
		case "message_stop":
			return p.answer(top)
		}
	}
	return nil, errBrokenStream
}
