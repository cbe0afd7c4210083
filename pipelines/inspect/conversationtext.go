package inspect

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/plural"
)

// Write writes the conversation as text or as Markdown. Long texts are cut unless
// full is set.
func (c *Conversation) Write(w io.Writer, markdown, full bool) error {
	var b strings.Builder
	p := &page{w: &b, markdown: markdown, full: full}
	c.facts(p)
	places := Places(c.t)
	for at, place := range places {
		c.message(p, place.Message, place.Depth, Before(places, at))
	}
	for i := range c.t.Candidates {
		c.candidate(p, i)
	}
	for _, a := range c.t.Artifacts {
		p.heading(0, "file "+Line(a.Name), plural.Of(a.Bytes, "byte"))
		p.block(0, "", "", a.Content)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// facts writes what is about the whole trajectory.
func (c *Conversation) facts(p *page) {
	t := c.t
	if p.markdown {
		fmt.Fprintf(p.w, "## Trajectory %s\n\n", span(Line(t.TrajectoryID)))
	}
	p.field("trajectory", "%s", Line(t.TrajectoryID))
	p.field("dataset", "%s", c.Appearance)
	for _, f := range c.Facts() {
		p.field(f.Name, "%s", f.Value)
	}
	if t.Error != "" {
		p.field("error", "%s", oneLine(t.Error))
	}
	if len(t.Rewards) > 0 {
		p.field("rewards", "%s", strings.TrimPrefix(listed(componentsOf(t.Rewards)), ": "))
	}
	p.field("trains", "%s: %s", c.Trains, c.Why)
	if answer := c.Reference(); answer != "" {
		p.field("reference", "%s", oneLine(answer))
	}
	if t.Answer != "" {
		p.field("answer", "%s", oneLine(t.Answer))
	}
}

// listed returns the components of a reward on one line, after a colon.
func listed(rewards []Component) string {
	var out []string
	for _, r := range rewards {
		out = append(out, fmt.Sprintf("%s = %s, weight %g%s", Line(r.Name), number(r.Value), r.Weight,
			because(r.Failure, r.Error)))
	}
	if out == nil {
		return ""
	}
	return ": " + strings.Join(out, "; ")
}

// message writes one message.
func (c *Conversation) message(p *page, i, depth, before int) {
	m := &c.t.Messages[i]
	notes := slices.Concat([]string{BranchOf(c.t, i, before)}, c.Notes(i), []string{BreakWhy(m.PrefixBreak), c.FateOf(i).Why})
	if m.PrefixBreak != "" {
		notes[len(notes)-2] = "prefix break: " + notes[len(notes)-2]
	}
	notes = slices.DeleteFunc(notes, func(note string) bool { return note == "" })
	p.heading(depth, fmt.Sprintf("[%d] %s", i, strings.TrimSpace(Line(m.Role)+" "+Line(m.Name))), Line(strings.Join(notes, ", ")))
	if m.Reasoning != "" {
		p.block(depth, "reasoning:", "", m.Reasoning)
	}
	switch {
	case m.ContentParts != "":
		p.block(depth, "parts:", "json", jsontext.Indent(m.ContentParts))
	case m.Content != "":
		p.block(depth, "", "", m.Content)
	}
	for _, call := range m.ToolCalls {
		p.block(depth, strings.TrimSpace("calls "+Line(call.Name)+" "+Line(call.ID)), "json", jsontext.Indent(call.Arguments))
	}
}

// candidate writes an alternative to a message.
func (c *Conversation) candidate(p *page, i int) {
	x := &c.t.Candidates[i]
	notes := fmt.Sprintf("instead of %d", x.Message)
	if x.Score != nil {
		notes += ", score " + number(x.Score)
	}
	p.heading(1, fmt.Sprintf("candidate %d", i), notes+because(x.Reason, ""))
	p.block(1, "", "", x.Content)
}
