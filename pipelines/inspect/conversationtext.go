package inspect

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/plural"
)

// Write writes the conversation as text or as Markdown. Long texts are cut unless
// full is set.
func (c *Conversation) Write(w io.Writer, markdown, full bool) error {
	var b strings.Builder
	p := &page{w: &b, markdown: markdown, full: full}
	c.facts(p)
	Walk(c.t, func(i, depth int) { c.message(p, i, depth) })
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
	p.field("trajectory", "%s: example %q, epoch %d, generation %d", Line(t.TrajectoryID), t.ExampleID, t.Epoch, t.Generation)
	p.field("dataset", "%s", c.Appearance)
	p.field("status", "%s (%s)%s", Line(t.Status), Line(t.StopReason), because(t.FailureClass, t.Error))
	p.field("model", "%s, policy version %s", cmp.Or(Line(t.Model), "-"), whole(t.PolicyVersion))
	p.field("tokens", "%s, %s; %s, %s, %s", plural.Of(t.PromptTokens, "prompt token"),
		plural.Of(t.SampledTokens, "sampled token"),
		plural.Of(len(t.Calls), "call"), plural.Of(len(t.Messages), "message"),
		plural.Of(max(0, len(t.Leaves())-1), "branch"))
	p.field("reward", "%s%s", number(t.Reward), listed(componentsOf(t.Rewards)))
	if g := c.Group; g != nil {
		p.field("group", "%s: %s, %d valid; mean %s, %s to %s", Line(g.GroupID), plural.Of(g.Count, "member"), g.Valid,
			number(g.Mean), number(g.Min), number(g.Max))
		p.field("advantage", "%s%s", number(g.Advantage), because(g.NoAdvantage, ""))
	}
	p.field("trains", "%s: %s", c.Trains, c.Why)
	if answer := formats.AnswerOf(t.Example, c.columns); answer != "" {
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
func (c *Conversation) message(p *page, i, depth int) {
	m := &c.t.Messages[i]
	p.heading(depth, fmt.Sprintf("[%d] %s", i, strings.TrimSpace(Line(m.Role)+" "+Line(m.Name))), c.notes(i))
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

// notes returns what is known of a message besides its text.
func (c *Conversation) notes(i int) string {
	m := &c.t.Messages[i]
	var notes []string
	add := func(note string) {
		if note != "" {
			notes = append(notes, note)
		}
	}
	if int(m.Parent) != i-1 && m.Parent >= 0 {
		add(fmt.Sprintf("after %d", m.Parent))
	}
	if m.Branch != "" {
		add("branch " + oneLine(m.Branch))
	}
	if m.ToolCallID != "" {
		add("answers " + oneLine(m.ToolCallID))
	}
	if m.Sampled {
		add(plural.Of(len(m.TokenIDs), "token"))
		if mean := meanLogprob(m); mean != nil {
			add(fmt.Sprintf("mean logprob %.4g", *mean))
		}
		add("finish " + cmp.Or(Line(m.FinishReason), "-"))
		if m.Call >= 0 {
			add(fmt.Sprintf("call %d", m.Call))
		}
		if n := len(m.PromptDeltaIDs); n > 0 {
			add(plural.Of(n, "new prompt token"))
		}
	}
	if a := c.t.AdvantageOf(i); c.t.Advantages != nil && m.Sampled && a != nil {
		add(fmt.Sprintf("advantage %+.4g", *a))
	}
	signals, _ := c.Is.of("signals").([]any)
	for _, s := range signals {
		if s := s.(Values); s.of("message") == int32(i) {
			add(fmt.Sprintf("%s %.4g", Line(s.of("component").(string)), s.of("value")))
		}
	}
	if m.PrefixBreak != "" {
		add("prefix break: " + oneLine(m.PrefixBreak))
	}
	add(c.Training(i))
	return strings.Join(notes, ", ")
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

// Walk calls f with each message of the tree and its depth: a path keeps its depth,
// and what branches off it, or has another root, is one deeper. The main path goes
// on after its branches. Messages that a damaged tree does not reach come last.
func Walk(t *formats.Trajectory, f func(i, depth int)) {
	main := t.Main()
	children := make(map[int][]int, len(t.Messages))
	for i := range t.Messages {
		parent := int(t.Messages[i].Parent)
		children[parent] = append(children[parent], i)
	}
	seen := make([]bool, len(t.Messages))
	var path func(at, depth int)
	path = func(at, depth int) {
		for at >= 0 && !seen[at] {
			seen[at] = true
			f(at, depth)
			next := continuation(children[at], main)
			for _, child := range children[at] {
				if child != next {
					path(child, depth+1)
				}
			}
			at = next
		}
	}
	first := continuation(children[-1], main)
	for _, root := range children[-1] {
		depth := 1
		if root == first {
			depth = 0
		}
		path(root, depth)
	}
	for i := range t.Messages {
		path(i, 1)
	}
}

// continuation returns the message with which a path goes on: the one on the main
// path, else the first; -1 for none.
func continuation(children, main []int) int {
	for _, child := range children {
		if _, on := slices.BinarySearch(main, child); on {
			return child
		}
	}
	if len(children) == 0 {
		return -1
	}
	return children[0]
}
