package trainset

import (
	"encoding/json"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// Compared returns the preference of a pair that group made: turns of a
// conversation, or alternatives at one of them. Both sides must answer with one
// message, since TRL trains on everything after the prompt; messages of others
// after the answer are left out.
func Compared(pair *formats.Pair) (p Preference, reason string) {
	prompt, ok := parse(pair.Prompt)
	chosen, fine := parse(pair.Chosen)
	rejected, sound := parse(pair.Rejected)
	if !ok || !fine || !sound {
		return p, Parts
	}
	if len(prompt) == 0 {
		return p, Prompts
	}
	if chosen, reason = answer(chosen); reason != "" {
		return p, reason
	}
	if rejected, reason = answer(rejected); reason != "" {
		return p, reason
	}
	if slices.EqualFunc(chosen, rejected, equal) {
		return p, Same
	}
	return Preference{
		Prompt: prompt, Chosen: chosen, Rejected: rejected, Tools: pair.Tools, ScoreChosen: jsontext.Float(pair.ChosenScore),
		ScoreRejected: jsontext.Float(pair.RejectedScore),
		Margin:        jsontext.Float(pair.Margin), ChosenID: pair.ChosenID, RejectedID: pair.RejectedID,
	}, ""
}

// Labelled returns the row of a label that group made, under the same rules.
func Labelled(l *formats.Label) (u Unpaired, reason string) {
	prompt, ok := parse(l.Prompt)
	completion, fine := parse(l.Completion)
	if !ok || !fine {
		return u, Parts
	}
	if len(prompt) == 0 {
		return u, Prompts
	}
	if completion, reason = answer(completion); reason != "" {
		return u, reason
	}
	return Unpaired{Prompt: prompt, Completion: completion, Label: l.Desirable, Tools: l.Tools,
		Score: jsontext.Float(l.Reward), TrajectoryID: l.TrajectoryID}, ""
}

// answer returns the policy's first message, which must be its only one.
func answer(tail []chat.Message) ([]chat.Message, string) {
	if len(tail) == 0 || tail[0].Role != "assistant" {
		return nil, Empty
	}
	if slices.ContainsFunc(tail[1:], func(m chat.Message) bool { return m.Role == "assistant" }) {
		return nil, Turns
	}
	return tail[:1], ""
}

// parse reads chat messages as they are in pairs and labels.
func parse(text string) ([]chat.Message, bool) {
	var list []struct {
		chat.Message
		Content   json.RawMessage `json:"content"`
		Reasoning string          `json:"reasoning"`
	}
	if json.Unmarshal([]byte(text), &list) != nil {
		return nil, false
	}
	out := make([]chat.Message, len(list))
	for i, m := range list {
		out[i] = m.Message
		var read formats.Message
		if len(m.Content) > 0 {
			if chat.ReadContent(&read, m.Content); m.Content[0] != '"' && m.Content[0] != '[' && string(m.Content) != "null" || !chat.IsText(&read) {
				return nil, false
			}
		}
		out[i].Content, _ = chat.Text(&read)
		out[i].Reasoning = m.Reasoning
	}
	return out, true
}
