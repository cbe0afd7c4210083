package model

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

// Write writes the conversation as text or as Markdown. Long texts are cut unless
// full is set.
func (c *Conversation) Write(w io.Writer, markdown, full bool) error {
	b := bufio.NewWriter(w)
	p := &text.Layout{W: b, Markdown: markdown, Full: full}
	if markdown {
		fmt.Fprintf(b, "## Trajectory %s\n\n", text.Span(text.Line(c.t.TrajectoryID)))
	}
	p.Field("trajectory", "%s", text.Line(c.t.TrajectoryID))
	p.Field("dataset", "%s", c.Appearance)
	c.facts(p)
	for _, at := range Places(c.t) {
		c.Message(at).write(p)
	}
	for _, x := range c.Candidates() {
		p.Heading(1, fmt.Sprintf("candidate %d", x.Number), fmt.Sprintf("instead of %d, %s", x.Message, x.Notes))
		p.Block(1, "", "", x.Text)
	}
	for _, a := range c.t.Artifacts {
		p.Heading(0, "file "+text.Line(a.Name), plural.Of(a.Bytes, "byte"))
		p.Block(0, "", "", a.Content)
	}
	return b.Flush()
}

// Outline returns what is known of the trajectory, and a line for each message.
func (c *Conversation) Outline() string {
	var b strings.Builder
	c.facts(&text.Layout{W: &b})
	for _, at := range Places(c.t) {
		title, notes := c.Message(at).Title()
		if notes != "" {
			title += " (" + notes + ")"
		}
		m := &c.t.Messages[at.Number]
		said := strings.TrimPrefix(Said(m), m.Role+": ")
		fmt.Fprintf(&b, "%s%s: %s\n", strings.Repeat("  ", at.Depth), title, text.OneLine(said))
	}
	return b.String()
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
	var rewards []string
	for _, r := range ComponentsOf(t.Rewards) {
		rewards = append(rewards, r.String())
	}
	if rewards != nil {
		p.Field("rewards", "%s", strings.Join(rewards, "; "))
	}
	p.Field("trains", "%s: %s", c.Trains, c.Why)
	if answer := c.Reference(); answer != "" {
		p.Field("reference", "%s", text.OneLine(answer))
	}
	if t.Answer != "" {
		p.Field("answer", "%s", text.OneLine(t.Answer))
	}
}

func (m Message) write(p *text.Layout) {
	title, notes := m.Title()
	p.Heading(m.Depth, title, notes)
	if m.Reasoning != "" {
		p.Block(m.Depth, "reasoning:", "", m.Reasoning)
	}
	for _, part := range m.Parts {
		if part.Label != "" {
			part.Text = "[" + part.Label + "]"
		}
		p.Block(m.Depth, "", "", part.Text)
	}
	for _, call := range m.Calls {
		p.Block(m.Depth, strings.TrimSpace("calls "+call.Name+" "+call.ID), "json", call.Arguments)
	}
}
