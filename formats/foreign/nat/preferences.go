package nat

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// preferences converts the DPOItems of an episode: for each the chosen answer and
// the rejected one, with their scores where the metadata have them.
func preferences(x *importers.Item, meta *importers.Metadata, metadata jsontext.Object,
	episode []byte) (out []importers.Item) {
	x.Attempt, x.Row.Metadata = nil, meta.String()
	must.Each("episode", episode, func(raw []byte) {
		o := jsontext.ParseObject(raw)
		for _, side := range []struct {
			of            importers.PairSide
			answer, score string
		}{{importers.Chosen, "chosen_response", "chosen_score"},
			{importers.Rejected, "rejected_response", "rejected_score"}} {
			one := *x
			one.Pair = side.of
			one.Row.Reward = must.Number("metadata."+side.score, metadata.Get(side.score))
			preference(&one.Row, o, side.answer)
			out = append(out, one)
		}
	})
	return out
}

// preference sets the conversation of one side.
func preference(row *formats.Trajectory, o jsontext.Object, answer string) {
	var c importers.Conversation
	var meta importers.Metadata
	for key, v := range jsontext.Members([]byte(row.Metadata)) {
		meta.Add(string(key), v)
	}
	prompt := o.Get("prompt")
	if len(prompt) > 0 && prompt[0] == '"' {
		c.Input(formats.Message{Role: "user", Content: jsontext.Unquote(prompt)})
	} else {
		for _, m := range value.Messages("prompt", prompt) {
			meta.KeepRest(c.Input(m.Message), m.Others)
		}
	}
	if !o.Has(answer) {
		must.Fail("%s is missing", answer)
	}
	at := c.Sampled(formats.Message{Role: "assistant", Content: must.Text(answer, o.Get(answer))}, formats.Call{Target: true})
	meta.KeepRest(at, o, "prompt", "chosen_response", "rejected_response")
	c.Into(row)
	row.Metadata = meta.String()
}
