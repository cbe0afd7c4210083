package eval

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/rollmill/rollmill/formats/excerpt"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/pipelines/look/model"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

// minLines is how much of a conversation is shown on the smallest screen.
const minLines = 6

// WriteText writes the result for a screen of so many lines: the attempts, the
// groups, the failures, the cost, and as much of the best and of the worst
// conversation as there is room for.
func (r *TryResult) WriteText(w io.Writer, height int) error {
	var b strings.Builder
	r.writeAttempts(&b)
	r.writeGroups(&b)
	r.writeFailures(&b)
	r.writeCost(&b)
	room := max(minLines, (height-strings.Count(b.String(), "\n"))/2-3)
	if r.worst == nil {
		room *= 2
	}
	err := cmp.Or(writeConversation(&b, "best", r.best, room), writeConversation(&b, "worst", r.worst, room))
	if err == nil {
		_, err = io.WriteString(w, b.String())
	}
	return err
}

func (r *TryResult) writeAttempts(w io.Writer) {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	cost := "\tcost"
	if r.Cost.Money == nil { // no prices
		cost = ""
	}
	fmt.Fprintf(out, "attempt\texample\tstatus\treward\tadvantage\ttokens\tturns\tseconds%s\tcomponents\n", cost)
	for _, a := range r.Attempts {
		if r.Cost.Money != nil {
			cost = "\t" + text.Float(a.Cost)
		}
		fmt.Fprintf(out, "%d\t%s\t%s (%s)\t%s\t%s\t%d + %d\t%d\t%.1f%s\t%s\n", a.Generation,
			excerpt.Start(text.Line(a.ExampleID), 16), a.Status, cmp.Or(a.FailureClass, a.StopReason),
			text.Float(a.Reward), text.Float(a.Advantage), a.PromptTokens, a.CompletionTokens, a.Turns, a.Seconds, cost,
			a.components())
	}
	out.Flush()
}

// components returns the named rewards; a failed trajectory has none.
func (a *Attempt) components() string {
	var out []string
	if a.FailureClass != "" {
		return ""
	}
	for _, c := range a.Rewards {
		text := text.Line(c.Name) + " " + text.Float(c.Value)
		if c.Weight != 1 {
			text += fmt.Sprintf(" * %.4g", c.Weight)
		}
		if c.Failure != "" {
			text += " (" + c.Failure + ")"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func (r *TryResult) writeGroups(w io.Writer) {
	for _, g := range r.Groups {
		fmt.Fprintf(w, "\ngroup %s:", excerpt.Start(text.Line(g.GroupID), 24))
		for i, f := range g.facts {
			fmt.Fprintf(w, "%s %s %s", map[bool]string{false: ";"}[i == 0], f.Name, f.Value)
		}
		switch {
		case g.Flat:
			fmt.Fprint(w, "; flat: all advantages are 0, so it gives no training signal (more attempts, a higher temperature or a "+
				"finer reward may help)")
		case g.Valid < 2:
			fmt.Fprint(w, "; too few to compare")
		}
		for _, a := range r.Attempts {
			if a.group == g.GroupID && a.Differs != "" {
				fmt.Fprintf(w, "\n    attempt %d, from message [%d] on: %s", a.Generation, a.Message,
					excerpt.Start(text.Line(a.Differs), 120))
			}
		}
	}
	fmt.Fprintln(w)
	for _, gate := range r.Gates {
		fmt.Fprintf(w, "an epoch like this would be refused: %s\n", text.Line(gate))
	}
}

func (r *TryResult) writeCost(w io.Writer) {
	fmt.Fprintf(w, "\nspent     %s\n", r.Cost.text("one after another"))
	fmt.Fprintf(w, "an epoch  about %s\n", r.Epoch.text("at rollout's concurrency, before training"))
}

func (c Cost) text(how string) string {
	text := fmt.Sprintf("%s: %s and %s, %s %s", plural.Of(c.Trajectories, "trajectory"),
		plural.Of(c.PromptTokens, "prompt token"),
		plural.Of(c.CompletionTokens, "completion token"), time.Duration(c.Seconds*float64(time.Second)).
			Round(100*time.Millisecond), how)
	if c.Money != nil {
		text += fmt.Sprintf("; the calls cost %.4g", *c.Money)
	}
	if len(c.Unknown) > 0 {
		text += "; the cost is not known of " + strings.Join(c.Unknown, ", ")
	}
	if c.JudgeTokens > 0 {
		text += fmt.Sprintf("; the judges take %s, which cost %.4g", plural.Of(c.JudgeTokens, "token"), c.JudgeMoney)
	}
	return text
}

// writeConversation writes the messages of a conversation, as show does, cut to so
// many lines. What show says of the whole trajectory is in the table above.
func writeConversation(w io.Writer, which string, c *model.Conversation, lines int) error {
	if c == nil {
		return nil
	}
	t := c.Trajectory()
	var b strings.Builder
	if err := c.Write(&b, false, false); err != nil {
		return err
	}
	if len(t.Messages) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\n%s: attempt %d at %s, reward %s\n", which, t.Generation, excerpt.Start(text.Line(t.ExampleID), 32),
		text.Float(t.Reward))
	_, messages, _ := strings.Cut(b.String(), "\n\n")
	all := strings.Split(strings.TrimRight(messages, "\n"), "\n")
	for _, line := range all[:min(lines, len(all))] {
		fmt.Fprintln(w, excerpt.Start(line, 160))
	}
	if more := len(all) - lines; more > 0 {
		fmt.Fprintf(w, "    ... %s more\n", plural.Of(more, "line"))
		if t.Answer != "" { // what the reward saw
			fmt.Fprintf(w, "answer: %s\n", excerpt.Start(text.Line(strings.TrimSpace(t.Answer)), 160))
		}
	}
	return nil
}
