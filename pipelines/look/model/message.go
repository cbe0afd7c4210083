package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

// Message is what is said of a message, in text and on pages. Its texts are whole.
type Message struct {
	Place
	Role, Name string
	Notes      []string
	Branch     string // why it does not follow the message before it
	Break      string // why its prompt does not continue the tokens before it
	Fate       Fate
	Reasoning  string
	Parts      []Part
	Calls      []Call
}

// Part is a part of a message: a text, an image, or the label of what is not shown. JSON that the
// model did not write has a line for each value.
type Part struct {
	chat.Part
	Raw   string // the text as the message has it
	Label string
}

// Call is a call of a tool. Its arguments have a line for each value.
type Call struct{ ID, Name, Arguments string }

// Message returns the message at a place.
func (c *Conversation) Message(at Place) Message {
	m := &c.t.Messages[at.Number]
	v := Message{Place: at, Role: text.Name(m.Role), Name: text.Name(m.Name), Branch: BranchOf(c.t, at),
		Break: BreakWhy(m.PrefixBreak), Fate: c.FateOf(at.Number), Notes: c.Notes(at.Number), Reasoning: m.Reasoning}
	parts, other := chat.PartsOf(m)
	for _, part := range parts {
		p := Part{Part: part, Raw: part.Text}
		switch {
		case part.URL != "":
			p.Label = fmt.Sprintf("image, not loaded: %s (%d bytes)", text.Name(part.URL), len(part.URL))
		case part.Text == "":
			continue
		case !m.Sampled:
			p.Text = jsontext.Lines(part.Text)
		}
		v.Parts = append(v.Parts, p)
	}
	for _, kind := range other {
		v.Parts = append(v.Parts, Part{Label: fmt.Sprintf("part of type %s, only in the raw row", text.Name(kind))})
	}
	for _, call := range m.ToolCalls {
		v.Calls = append(v.Calls, Call{text.Name(call.ID), text.Name(call.Name), jsontext.Lines(call.Arguments)})
	}
	return v
}

// Title returns what stands above a message in text, and what is known of it.
func (m Message) Title() (title, notes string) {
	why := m.Break
	if why != "" {
		why = "prefix break: " + why
	}
	all := slices.Concat([]string{m.Branch}, m.Notes, []string{why, m.Fate.Why})
	all = slices.DeleteFunc(all, func(note string) bool { return note == "" })
	title = fmt.Sprintf("[%d] %s", m.Number, strings.TrimSpace(text.Line(m.Role)+" "+text.Line(m.Name)))
	return title, text.Line(strings.Join(all, ", "))
}

// Candidate is an alternative to a sampled message.
type Candidate struct {
	Number, Message int
	Notes, Text     string
}

// Candidates returns the alternatives to sampled messages.
func (c *Conversation) Candidates() (out []Candidate) {
	for i, x := range c.t.Candidates {
		v := Candidate{i, int(x.Message), text.Name(cmp.Or(x.Reason, "scored by the agent")), x.Content}
		for _, call := range x.ToolCalls {
			v.Text += "\n→ " + call.Name + " " + call.Arguments
		}
		if x.Score != nil {
			v.Notes += ", score " + text.Exact(x.Score)
		}
		out = append(out, v)
	}
	return out
}

// Said returns a message as one text: its role, its content and its calls.
func Said(m *formats.Message) string {
	said := m.Content + m.ContentParts
	for _, call := range m.ToolCalls {
		said += " -> " + call.Name + " " + call.Arguments
	}
	return m.Role + ": " + strings.TrimSpace(said)
}
