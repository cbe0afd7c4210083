package nemogym

import (
	"cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/schema"
)

// builder builds the messages of a rollout from items of the Responses API. Adjacent
// items that the model generated are one message, until one has tokens of its own or the
// model did not generate it. The tokens are those of the answer's last item, or of its
// first, which its calls follow: so text between two items with tokens is of the second,
// and calls are of the first.
type builder struct {
	importers.Draft
	model    string
	sampling string

	open    bool // an answer is being read
	message formats.Message
	content value.Content
	rest    jsontext.Object // of its items
	tokens  jsontext.Object // the item that has its tokens; nil: none
	held    [][]byte        // items after that one, of this answer or of the next
}

func (b *builder) read(params, response jsontext.Object) {
	tools := value.Tools(params.Get("tools"))
	if tools == "" { // the agent gave it tools that the task does not name
		tools = value.Tools(response.Get("tools"))
	}
	b.Offer(tools)
	if text := must.Text("instructions", params.Get("instructions")); text != "" {
		b.Input(formats.Message{Role: "system", Content: text})
	}
	input := params.Get("input")
	if len(input) > 0 && input[0] == '"' {
		b.Input(formats.Message{Role: "user", Content: must.Text("input", input)})
	} else {
		b.items("input", input, false)
	}
	b.items("output", response.Get("output"), true)
	if n := len(b.Messages); n > 0 && b.Messages[n-1].Sampled {
		details := must.Object("incomplete_details", response.Get("incomplete_details"))
		b.Messages[n-1].FinishReason = must.Text("incomplete_details.reason", details.Get("reason"))
	}
}

// items adds items; sampled reports whether those that a model generated were
// generated in this rollout.
func (b *builder) items(field string, list []byte, sampled bool) {
	must.Each(field, must.List(field, list), func(raw []byte) { b.item(must.Object("it", raw), raw, sampled) })
	b.flush(sampled)
}

func (b *builder) item(o jsontext.Object, raw []byte, sampled bool) {
	if !value.Generated(o) {
		b.flush(sampled)
		m, rest := value.InputItem(o)
		if at := b.Input(m); len(rest) > 0 {
			b.Meta.OfMessage(at, "output", rest.Bytes())
		}
		return
	}
	kind := jsontext.Unquote(o.Get("type"))
	has := len(jsontext.Compact(value.OrNull(o.Get("generation_token_ids")))) > len("[]") && o.Has("generation_token_ids")
	if b.open && b.tokens != nil {
		switch {
		case has:
			held := b.held
			b.held = nil
			b.flush(sampled)
			b.add(held)
		case kind == "reasoning" || kind == "message" || kind == "":
			b.held = append(b.held, raw)
			return
		default:
			b.addHeld()
		}
	}
	if !b.open {
		b.open, b.message = true, formats.Message{Role: "assistant"}
		b.content, b.rest, b.tokens = value.Content{Message: &b.message}, nil, nil
	}
	item := raw
	if has {
		b.tokens = o
		item = value.Without(o, "prompt_token_ids", "generation_token_ids", "generation_log_probs").Bytes()
	}
	b.content.Item(o, item)
	b.rest = append(b.rest, jsontext.Member{Key: cmp.Or(kind, "message"),
		Raw: value.Without(o, "type", "role", "content", "summary", "name", "arguments", "call_id", "input",
			"prompt_token_ids", "generation_token_ids", "generation_log_probs", "encrypted_content").Bytes()})
}

// add adds items without tokens to the answer that is open, or begins one.
func (b *builder) add(items [][]byte) {
	for _, raw := range items {
		b.item(jsontext.ParseObject(raw), raw, true)
	}
}

// addHeld adds the items that are held to the answer that is open.
func (b *builder) addHeld() {
	held, tokens := b.held, b.tokens
	b.held, b.tokens = nil, nil
	b.add(held)
	b.tokens = tokens
}

// flush adds the answer that is open.
func (b *builder) flush(sampled bool) {
	if !b.open {
		return
	}
	b.addHeld()
	b.open = false
	b.content.Set()
	m := b.message
	call := formats.Call{Model: b.model, Sampling: b.sampling, Target: true}
	if b.tokens != nil {
		prompt := must.IDs("prompt_token_ids", b.tokens.Get("prompt_token_ids"))
		m.TokenIDs = must.IDs("generation_token_ids", b.tokens.Get("generation_token_ids"))
		m.Logprobs = must.Logprobs("generation_log_probs", b.tokens.Get("generation_log_probs"))
		call.PromptTokens, call.CompletionTokens = int32(len(prompt)), int32(len(m.TokenIDs))
		m.PromptDeltaIDs, m.PrefixBreak = b.PromptDelta(prompt)
	}
	at := len(b.Messages)
	switch {
	case !sampled:
		m.TokenIDs, m.Logprobs, m.PromptDeltaIDs, m.PrefixBreak = nil, nil, nil, ""
		b.Input(m)
	default:
		if len(m.TokenIDs) > 0 {
			b.Source = schema.TokensMessage
		}
		b.Sampled(m, call)
	}
	if len(b.content.Reasoning) > 0 {
		b.Meta.OfMessage(at, "reasoning", value.Join(b.content.Reasoning))
	}
	var items [][]byte
	for _, f := range b.rest {
		if len(f.Raw) > len("{}") && f.Key != "reasoning" {
			items = append(items, jsontext.Object{{Key: f.Key, Raw: f.Raw}}.Bytes())
		}
	}
	if len(items) > 0 {
		b.Meta.OfMessage(at, "items", value.Join(items))
	}
}

// usage sets the tokens of the only call; those of several are summed in the
// response, and only their own ids tell them apart.
func (b *builder) usage(response jsontext.Object) {
	u := must.Object("usage", response.Get("usage"))
	if len(b.Calls) != 1 || u == nil {
		return
	}
	c := &b.Calls[0]
	c.PromptTokens = must.Count("usage.input_tokens", u.Get("input_tokens"))
	c.CompletionTokens = must.Count("usage.output_tokens", u.Get("output_tokens"))
	c.CachedTokens = must.Count("usage.cached_tokens",
		must.Object("usage.input_tokens_details", u.Get("input_tokens_details")).Get("cached_tokens"))
}
