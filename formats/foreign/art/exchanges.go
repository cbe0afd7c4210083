package art

import (
	"cmp"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// exchanges adds the requests of a trajectory, in the order of the log.
func (b *builder) exchanges(o jsontext.Object) {
	for _, f := range o {
		if f.Key == "chat_completions" {
			must.Each("exchanges.chat_completions", f.Raw, b.exchange)
			continue
		}
		for range jsontext.Elements(f.Raw) {
			b.record.Lose("exchanges."+f.Key, "only exchanges of chat completions become messages")
			break
		}
	}
}

// exchange adds a request and its answers.
func (b *builder) exchange(raw []byte) {
	o := jsontext.ParseObject(raw)
	request, response := must.Object("request", o.Get("request")), must.Object("response", o.Get("response"))
	tools := value.Tools(request.Get("tools"))
	prompt := value.Messages("request.messages", request.Get("messages"))
	call := b.call(o, request, response)
	b.Walk(prompt, &b.Meta)
	b.Offer(tools)
	b.answers(response, call)
}

func (b *builder) call(o, request, response jsontext.Object) formats.Call {
	usage := must.Object("usage", response.Get("usage"))
	call := formats.Call{Target: true, PolicyVersion: b.version, Model: must.Text("model", response.Get("model")),
		PromptTokens:     must.Count("prompt_tokens", usage.Get("prompt_tokens")),
		CompletionTokens: must.Count("completion_tokens", usage.Get("completion_tokens")),
		CachedTokens: must.Count("cached_tokens",
			must.Object("prompt_tokens_details", usage.Get("prompt_tokens_details")).Get("cached_tokens"))}
	sampling := jsontext.Object(slices.Collect(value.Rest(request, "messages", "tools", "model", "stream",
		"stream_options")))
	call.Sampling = jsontext.Compact(sampling.Bytes())
	began, done := value.Micros(o.Get("start_time")), value.Micros(o.Get("end_time"))
	if began > 0 && (b.Times.Began == 0 || began < b.Times.Began) {
		b.Times.Began = began
	}
	b.Times.Done = max(b.Times.Done, done)
	if began > 0 && done > began {
		call.LatencyMS = (done - began) / 1000
	}
	return call
}

// answers adds the choices of a response after the prompt. Tokens are counted once, for the first.
func (b *builder) answers(response jsontext.Object, call formats.Call) {
	after, first := b.Last(), true
	must.Each("response.choices", must.List("response.choices", response.Get("choices")), func(raw []byte) {
		c := value.ReadChoice(raw)
		if c.Prompt == nil {
			c.Prompt = must.IDs("response.prompt_token_ids", response.Get("prompt_token_ids"))
		}
		b.Continue(after)
		b.Source = cmp.Or(b.Source, c.Source)
		m := c.Message
		m.PromptDeltaIDs, m.PrefixBreak = b.PromptDelta(c.Prompt)
		if m.Branch = b.Again(); !first {
			m.Branch = importers.BranchChoice
			call.PromptTokens, call.CompletionTokens, call.CachedTokens = 0, 0, 0
		}
		b.Meta.NonEmptyOfMessage(b.Sampled(m, call), c.Rest)
		first = false
	})
}
