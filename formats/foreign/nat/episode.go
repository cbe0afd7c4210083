package nat

import (
	"cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

func collection(r *importers.Record, o jsontext.Object) (out []importers.Item) {
	must.Each("trajectories", must.List("trajectories", o.Get("trajectories")), func(list []byte) {
		must.Each("trajectories", must.List("it", list), func(raw []byte) {
			out = append(out, trajectory(r, must.Object("it", raw))...)
		})
	})
	return out
}

// trajectory converts a Trajectory: one row, or two for each preference.
func trajectory(r *importers.Record, o jsontext.Object) []importers.Item {
	metadata := must.Object("metadata", o.Get("metadata"))
	episode := must.List("episode", o.Get("episode"))
	x := importers.Item{Attempt: must.Whole("metadata.generation", metadata.Get("generation"))}
	id := must.ID("metadata.id", metadata.Get("id"))
	if id == "" {
		id = must.ID("metadata.example_id", metadata.Get("example_id"))
	}
	attempt := x.Attempt
	if identify(&x, id); attempt != nil {
		x.Attempt = attempt
	}
	x.Row.Reward = must.Number("reward", o.Get("reward"))
	for v := range jsontext.Elements(must.List("shaped_rewards", o.Get("shaped_rewards"))) {
		if n := must.Number("shaped_rewards", v); n != nil {
			x.Row.ShapedRewards = append(x.Row.ShapedRewards, *n)
		}
	}
	var meta importers.Metadata
	meta.AddRest(o, "episode", "reward", "shaped_rewards")
	for first := range jsontext.Elements(episode) {
		if jsontext.ParseObject(first).Has("chosen_response") {
			meta.Add("reward", o.Get("reward")) // of the pair
			return preferences(&x, &meta, metadata, episode)
		}
		break
	}
	e := &builder{record: r}
	must.Each("episode", episode, func(raw []byte) { e.episodeItem(raw, &meta) })
	e.Into(&x.Row)
	x.Row.Metadata = meta.String()
	if len(x.Row.Calls) == 0 {
		importers.Fail(&x.Row, outcomes.FailNoCalls, "the episode has no answer of a model")
	}
	return []importers.Item{x}
}

// episodeRoles are the roles of an episode that a message cannot have.
var episodeRoles = map[string]string{"function": "tool", "environment": "user", "other": "user"}

// episodeItem adds an EpisodeItem. An assistant's was sampled.
func (b *builder) episodeItem(raw []byte, meta *importers.Metadata) {
	o := must.Object("it", raw)
	role := must.Text("role", o.Get("role"))
	m := formats.Message{Role: cmp.Or(episodeRoles[role], role), Content: must.Text("content", o.Get("content"))}
	more := must.Object("metadata", o.Get("metadata"))
	m.Name, m.ToolCallID = must.Text("metadata.name", more.Get("name")),
		must.Text("metadata.tool_call_id", more.Get("tool_call_id"))
	m.ToolCalls = ToolCalls(more.Get("tool_calls"))
	at, rest := 0, o.Get("logprobs")
	if role == "assistant" {
		rest = b.logprobs(&m, rest)
		at = b.Sampled(m, formats.Call{Target: true, CompletionTokens: int32(len(m.Logprobs))})
	} else {
		at = b.Input(m)
	}
	if m.Role != role {
		meta.OfMessage(at, "role", o.Get("role"))
	}
	meta.Keep(at, "logprobs", rest)
	meta.KeepRest(at, o, "role", "content", "logprobs", "metadata")
	for f := range value.Rest(more, "name", "tool_call_id", "tool_calls") {
		meta.OfMessage(at, f.Key, f.Raw)
	}
	if m.ToolCalls == nil {
		meta.Keep(at, "unread_tool_calls", more.Get("tool_calls"))
	}
}

// logprobs gives an answer its logprobs: of a chat completion, a list of its
// entries, or a list of numbers. It returns a value that is none of these.
func (b *builder) logprobs(m *formats.Message, v []byte) (rest []byte) {
	if len(v) > 0 && v[0] == '[' {
		for first := range jsontext.Elements(v) {
			if first[0] != '{' {
				m.Logprobs = must.Logprobs("logprobs", v)
				return nil
			}
			break
		}
		v = jsontext.Object{{Key: "content", Raw: v}}.Bytes()
	}
	if o := jsontext.ParseObject(v); len(o.Get("content")) == 0 || o.Get("content")[0] != '[' {
		return v
	}
	b.Source = cmp.Or(b.Source, value.ChoiceLogprobs(m, v))
	return nil
}
