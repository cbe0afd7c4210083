package art

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// exchanges adds the requests of a trajectory, in the order of the log.
func (b *builder) exchanges(o jsontext.Object) error {
	for _, f := range o {
		n := 0
		for raw := range jsontext.Elements(f.Raw) {
			if f.Key != "chat_completions" {
				b.record.Lose("exchanges."+f.Key, "only exchanges of chat completions become messages")
				break
			}
			if err := b.exchange(jsontext.ParseObject(raw)); err != nil {
				return fmt.Errorf("exchanges.chat_completions[%d]: %w", n, err)
			}
			n++
		}
	}
	return nil
}

// exchange adds a request and its answers.
func (b *builder) exchange(o jsontext.Object) error {
	var in value.Reader
	request, response := in.Object("request", o.Get("request")), in.Object("response", o.Get("response"))
	tools, err := value.ChatTools(request.Get("tools"))
	if err != nil {
		return err
	}
	var prompt []formats.Message
	var kept []jsontext.Object
	for raw := range jsontext.Elements(in.List("request.messages", request.Get("messages"))) {
		m, more, err := value.Message(raw)
		if err != nil {
			return fmt.Errorf("request.messages[%d]: %w", len(prompt), err)
		}
		prompt, kept = append(prompt, m), append(kept, more)
	}
	call, err := b.call(&in, o, request, response)
	if err != nil {
		return err
	}
	known := len(b.conversation.Messages)
	for i, at := range b.conversation.Walk(prompt) {
		if at >= known {
			b.meta.NonEmptyOfMessage(at, kept[i])
		}
	}
	b.conversation.Offer(tools)
	return b.answers(&in, response, call)
}

// call returns the call of an exchange.
func (b *builder) call(in *value.Reader, o, request, response jsontext.Object) (formats.Call, error) {
	usage := in.Object("usage", response.Get("usage"))
	call := formats.Call{Target: true, PolicyVersion: b.version, Model: in.Text("model", response.Get("model")),
		PromptTokens:     in.Count("prompt_tokens", usage.Get("prompt_tokens")),
		CompletionTokens: in.Count("completion_tokens", usage.Get("completion_tokens")),
		CachedTokens: in.Count("cached_tokens",
			in.Object("prompt_tokens_details", usage.Get("prompt_tokens_details")).Get("cached_tokens"))}
	sampling := jsontext.Object(slices.Collect(value.Rest(request, "messages", "tools", "model", "stream",
		"stream_options")))
	call.Sampling = jsontext.Compact(sampling.Bytes())
	began, done := value.Micros(o.Get("start_time")), value.Micros(o.Get("end_time"))
	if began > 0 && (b.began == 0 || began < b.began) {
		b.began = began
	}
	b.done = max(b.done, done)
	if began > 0 && done > began {
		call.LatencyMS = (done - began) / 1000
	}
	return call, in.Err
}

// answers adds the choices of a response after the prompt. Tokens are counted
// once, for the first.
func (b *builder) answers(in *value.Reader, response jsontext.Object, call formats.Call) error {
	after := b.conversation.Last()
	n := 0
	for raw := range jsontext.Elements(in.List("response.choices", response.Get("choices"))) {
		c, err := value.ReadChoice(raw)
		if err != nil {
			return fmt.Errorf("response.choices[%d]: %w", n, err)
		}
		if c.Prompt == nil {
			c.Prompt = in.IDs("response.prompt_token_ids", response.Get("prompt_token_ids"))
		}
		b.conversation.Continue(after)
		b.source = cmp.Or(b.source, c.Source)
		m := c.Message
		m.PromptDeltaIDs, m.PrefixBreak = b.conversation.PromptDelta(c.Prompt)
		if m.Branch = b.conversation.Again(); n > 0 {
			m.Branch = importers.BranchChoice
			call.PromptTokens, call.CompletionTokens, call.CachedTokens = 0, 0, 0
		}
		b.meta.NonEmptyOfMessage(b.conversation.Sampled(m, call), c.Rest)
		n++
	}
	return in.Err
}
