package nat

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// collection converts a TrajectoryCollection.
func collection(r *importers.Record, o jsontext.Object) (out []importers.Item, err error) {
	var in value.Reader
	group := 0
	for list := range jsontext.Elements(in.List("trajectories", o.Get("trajectories"))) {
		n := 0
		for raw := range jsontext.Elements(in.List("trajectories", list)) {
			items, err := trajectory(r, in.Object("trajectories", raw))
			if err = errors.Join(in.Err, err); err != nil {
				return nil, fmt.Errorf("trajectories[%d][%d]: %w", group, n, err)
			}
			out = append(out, items...)
			n++
		}
		group++
	}
	return out, in.Err
}

// trajectory converts a Trajectory: one row, or two for each preference.
func trajectory(r *importers.Record, o jsontext.Object) (out []importers.Item, err error) {
	var in value.Reader
	metadata := in.Object("metadata", o.Get("metadata"))
	episode := in.List("episode", o.Get("episode"))
	x := importers.Item{Attempt: in.Whole("metadata.generation", metadata.Get("generation"))}
	id := in.ID("metadata.id", metadata.Get("id"))
	if id == "" {
		id = in.ID("metadata.example_id", metadata.Get("example_id"))
	}
	attempt := x.Attempt
	if identify(&x, id); attempt != nil {
		x.Attempt = attempt
	}
	x.Row.Reward = in.Number("reward", o.Get("reward"))
	for v := range jsontext.Elements(in.List("shaped_rewards", o.Get("shaped_rewards"))) {
		if n := in.Number("shaped_rewards", v); n != nil {
			x.Row.ShapedRewards = append(x.Row.ShapedRewards, *n)
		}
	}
	if in.Err != nil {
		return nil, in.Err
	}
	var meta importers.Metadata
	for f := range value.Rest(o, "episode", "reward", "shaped_rewards") {
		meta.Add(f.Key, f.Raw)
	}
	for first := range jsontext.Elements(episode) {
		if jsontext.ParseObject(first).Has("chosen_response") {
			meta.Add("reward", o.Get("reward")) // of the pair
			return preferences(&x, &meta, metadata, episode)
		}
		break
	}
	e := &builder{record: r}
	if err := value.Each("episode", episode, func(raw []byte) error { return e.episodeItem(raw, &meta) }); err != nil {
		return nil, err
	}
	e.conversation.Into(&x.Row)
	x.Row.TokenSource, x.Row.Metadata = e.source, meta.String()
	if len(x.Row.Calls) == 0 {
		importers.Fail(&x.Row, outcomes.FailNoCalls, "the episode has no answer of a model")
	}
	return []importers.Item{x}, nil
}

// episodeRoles are the roles of an episode that a message cannot have.
var episodeRoles = map[string]string{"function": "tool", "environment": "user", "other": "user"}

// episodeItem adds an EpisodeItem. An assistant's was sampled.
func (b *builder) episodeItem(raw []byte, meta *importers.Metadata) error {
	var in value.Reader
	o := in.Object("it", raw)
	role := in.Text("role", o.Get("role"))
	m := formats.Message{Role: cmp.Or(episodeRoles[role], role), Content: in.Text("content", o.Get("content"))}
	more := in.Object("metadata", o.Get("metadata"))
	m.Name, m.ToolCallID = in.Text("metadata.name", more.Get("name")),
		in.Text("metadata.tool_call_id", more.Get("tool_call_id"))
	m.ToolCalls = ToolCalls(more.Get("tool_calls"))
	var rest []byte
	if role == "assistant" {
		rest = b.logprobs(&in, &m, o.Get("logprobs"))
	} else {
		rest = o.Get("logprobs")
	}
	if in.Err != nil {
		return in.Err
	}
	at := 0
	if role == "assistant" {
		at = b.conversation.Sampled(m, formats.Call{Target: true, CompletionTokens: int32(len(m.Logprobs))})
	} else {
		at = b.conversation.Input(m)
	}
	if m.Role != role {
		meta.OfMessage(at, "role", o.Get("role"))
	}
	meta.Keep(at, "logprobs", rest)
	for f := range value.Rest(o, "role", "content", "logprobs", "metadata") {
		meta.Keep(at, f.Key, f.Raw)
	}
	for f := range value.Rest(more, "name", "tool_call_id", "tool_calls") {
		meta.OfMessage(at, f.Key, f.Raw)
	}
	if m.ToolCalls == nil {
		meta.Keep(at, "unread_tool_calls", more.Get("tool_calls"))
	}
	return nil
}

// logprobs gives an answer its logprobs: of a chat completion, a list of its
// entries, or a list of numbers. It returns a value that is none of these.
func (b *builder) logprobs(in *value.Reader, m *formats.Message, v []byte) (rest []byte) {
	if len(v) > 0 && v[0] == '[' {
		for first := range jsontext.Elements(v) {
			if first[0] != '{' {
				m.Logprobs = in.Logprobs("logprobs", v)
				return nil
			}
			break
		}
		v = jsontext.Object{{Key: "content", Raw: v}}.Bytes()
	}
	if o := jsontext.ParseObject(v); len(o.Get("content")) == 0 || o.Get("content")[0] != '[' {
		return v
	}
	source := in.ChoiceLogprobs(m, v)
	b.source = cmp.Or(b.source, source)
	return nil
}

// preferences converts the DPOItems of an episode: for each the chosen answer and
// the rejected one, with their scores where the metadata have them.
func preferences(x *importers.Item, meta *importers.Metadata, metadata jsontext.Object,
	episode []byte) (out []importers.Item, err error) {
	x.Attempt, x.Row.Metadata = nil, meta.String()
	err = value.Each("episode", episode, func(raw []byte) error {
		o := jsontext.ParseObject(raw)
		for _, side := range []struct {
			of            importers.PairSide
			answer, score string
		}{{importers.Chosen, "chosen_response", "chosen_score"},
			{importers.Rejected, "rejected_response", "rejected_score"}} {
			one := *x
			one.Pair = side.of
			var in value.Reader
			one.Row.Reward = in.Number("metadata."+side.score, metadata.Get(side.score))
			if err := preference(&in, &one.Row, o, side.answer); err != nil {
				return err
			}
			out = append(out, one)
		}
		return nil
	})
	return out, err
}

// preference sets the conversation of one side.
func preference(in *value.Reader, row *formats.Trajectory, o jsontext.Object, answer string) error {
	var c importers.Conversation
	var meta importers.Metadata
	for key, v := range jsontext.Members([]byte(row.Metadata)) {
		meta.Add(string(key), v)
	}
	prompt := o.Get("prompt")
	if len(prompt) > 0 && prompt[0] == '"' {
		c.Input(formats.Message{Role: "user", Content: jsontext.Unquote(prompt)})
	} else {
		for raw := range jsontext.Elements(in.List("prompt", prompt)) {
			m, rest, err := value.Message(raw)
			if err != nil {
				return fmt.Errorf("prompt: %w", err)
			}
			meta.AllOfMessage(c.Input(m), rest)
		}
	}
	if !o.Has(answer) {
		in.Fail("%s is missing", answer)
	}
	at := c.Sampled(formats.Message{Role: "assistant", Content: in.Text(answer, o.Get(answer))}, formats.Call{Target: true})
	for f := range value.Rest(o, "prompt", "chosen_response", "rejected_response") {
		meta.Keep(at, f.Key, f.Raw)
	}
	c.Into(row)
	row.Metadata = meta.String()
	return in.Err
}
