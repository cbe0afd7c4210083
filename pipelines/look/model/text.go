package model

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

// Write writes the conversation as text or as Markdown. Long texts are cut unless
// full is set.
func (c *Conversation) Write(w io.Writer, markdown, full bool) error {
	var b strings.Builder
	p := &text.Layout{W: &b, Markdown: markdown, Full: full}
	if markdown {
		fmt.Fprintf(&b, "## Trajectory %s\n\n", text.Span(text.Line(c.t.TrajectoryID)))
	}
	p.Field("trajectory", "%s", text.Line(c.t.TrajectoryID))
	p.Field("dataset", "%s", c.Appearance)
	c.facts(p)
	places := Places(c.t)
	for at, place := range places {
		c.message(p, place.Message, place.Depth, Before(places, at))
	}
	for i := range c.t.Candidates {
		c.candidate(p, i)
	}
	for _, a := range c.t.Artifacts {
		p.Heading(0, "file "+text.Line(a.Name), plural.Of(a.Bytes, "byte"))
		p.Block(0, "", "", a.Content)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Outline writes what is known of the trajectory, and a line for each message.
func (c *Conversation) Outline(w io.Writer) error {
	var b strings.Builder
	c.facts(&text.Layout{W: &b})
	places := Places(c.t)
	for at, place := range places {
		title, notes := c.title(place.Message, Before(places, at))
		if notes != "" {
			title += " (" + notes + ")"
		}
		m := &c.t.Messages[place.Message]
		said := strings.TrimPrefix(Said(m), m.Role+": ")
		fmt.Fprintf(&b, "%s%s: %s\n", strings.Repeat("  ", place.Depth), title, text.OneLine(said))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// facts writes what is about the whole trajectory.
func (c *Conversation) facts(p *text.Layout) {
	t := c.t
	for _, f := range c.Facts() {
		p.Field(f.Name, "%s", f.Value)
	}
	if t.Error != "" {
		p.Field("error", "%s", text.OneLine(t.Error))
	}
	if len(t.Rewards) > 0 {
		p.Field("rewards", "%s", strings.TrimPrefix(ListComponents(ComponentsOf(t.Rewards)), ": "))
	}
	p.Field("trains", "%s: %s", c.Trains, c.Why)
	if answer := c.Reference(); answer != "" {
		p.Field("reference", "%s", text.OneLine(answer))
	}
	if t.Answer != "" {
		p.Field("answer", "%s", text.OneLine(t.Answer))
	}
}

// title returns what stands above a message, and what is known of it.
func (c *Conversation) title(i, before int) (title, notes string) {
	m := &c.t.Messages[i]
	all := slices.Concat([]string{BranchOf(c.t, i, before)}, c.Notes(i), []string{BreakWhy(m.PrefixBreak), c.FateOf(i).Why})
	if m.PrefixBreak != "" {
		all[len(all)-2] = "prefix break: " + all[len(all)-2]
	}
	all = slices.DeleteFunc(all, func(note string) bool { return note == "" })
	return fmt.Sprintf("[%d] %s", i, strings.TrimSpace(text.Line(m.Role)+" "+text.Line(m.Name))), text.Line(strings.Join(all, ", "))
}

// message writes one message.
func (c *Conversation) message(p *text.Layout, i, depth, before int) {
	m := &c.t.Messages[i]
	title, notes := c.title(i, before)
	p.Heading(depth, title, notes)
	if m.Reasoning != "" {
		p.Block(depth, "reasoning:", "", m.Reasoning)
	}
	switch {
	case m.ContentParts != "":
		p.Block(depth, "parts:", "json", jsontext.Indent(m.ContentParts))
	case m.Content != "":
		p.Block(depth, "", "", m.Content)
	}
	for _, call := range m.ToolCalls {
		p.Block(depth, strings.TrimSpace("calls "+text.Line(call.Name)+" "+text.Line(call.ID)), "json", jsontext.Indent(call.Arguments))
	}
}

// candidate writes an alternative to a message.
func (c *Conversation) candidate(p *text.Layout, i int) {
	x := &c.t.Candidates[i]
	notes := fmt.Sprintf("instead of %d", x.Message)
	if x.Score != nil {
		notes += ", score " + text.Exact(x.Score)
	}
	p.Heading(1, fmt.Sprintf("candidate %d", i), notes+text.Because(x.Reason, ""))
	p.Block(1, "", "", x.Content)
}
