package inspect

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/formats/receipts"
)

// WriteText writes the trace as text, a paragraph per step.
func (s *Trace) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "trajectory %s: example %q, epoch %d, generation %d\n", Line(s.TrajectoryID), s.ExampleID, s.Epoch,
		s.Generation)
	if s.Rollout != nil {
		s.Rollout.text(&b)
	}
	for _, a := range s.Others {
		fmt.Fprintf(&b, "\nalso      %s\n", a)
	}
	for i := range s.Scores {
		s.Scores[i].text(&b)
	}
	for i := range s.Groups {
		s.Groups[i].text(&b)
	}
	for i := range s.Curated {
		s.Curated[i].text(&b)
	}
	for i := range s.Submissions {
		s.Submissions[i].text(&b)
	}
	if len(s.Curated) > 0 && len(s.Submissions) == 0 {
		b.WriteString("\nsubmit    no receipt here is of a curated dataset that kept it\n")
	}
	for _, problem := range s.Problems {
		fmt.Fprintf(&b, "\nproblem   %s\n", problem)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (a Appearance) String() string { return fmt.Sprintf("%s, row %d", a.URI, a.Row) }

func (t *RolloutStep) text(b *strings.Builder) {
	fmt.Fprintf(b, "\nrollout   %s\n", t.Appearance)
	fmt.Fprintf(b, "          %s (%s)", Line(t.Status), Line(t.StopReason))
	if t.FailureClass != "" {
		fmt.Fprintf(b, ", %s: %s", Line(t.FailureClass), oneLine(t.Error))
	}
	fmt.Fprintf(b, "; model %s, policy version %s\n", cmp.Or(Line(t.Model), "-"), whole(t.PolicyVersion))
	fmt.Fprintf(b, "          %s, %s, %s, %s\n", plural.Of(t.Calls, "call"), plural.Of(t.PromptTokens, "prompt token"),
		plural.Of(t.SampledTokens, "sampled token"), plural.Of(t.Branches, "branch"))
	writeTraceback(b, t.Traceback)
	for i, m := range t.Messages {
		fmt.Fprintf(b, "          %s\n", m.line(i, t.Messages))
	}
	if t.Answer != "" {
		fmt.Fprintf(b, "          answer: %s\n", oneLine(t.Answer))
	}
	if t.Reference != "" {
		fmt.Fprintf(b, "          reference: %s\n", oneLine(t.Reference))
	}
	if t.Reward != nil || len(t.Rewards) > 0 {
		fmt.Fprintf(b, "          reward %s, recorded with it%s\n", number(t.Reward), listed(t.Rewards))
	}
}

func writeTraceback(b *strings.Builder, text string) {
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		fmt.Fprintf(b, "          | %s%s\n", indent, Line(line))
	}
}

// line returns a message as one line, with the number of its parent if that is not
// the message before.
func (u MessageSummary) line(i int, all []MessageSummary) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s", i, Line(u.Role))
	if int(u.Parent) != i-1 {
		fmt.Fprintf(&b, " after %d", u.Parent)
	}
	for _, note := range []string{u.Branch, u.PrefixBreak} {
		if note != "" {
			fmt.Fprintf(&b, " [%s]", oneLine(note))
		}
	}
	switch {
	case u.Trained:
		fmt.Fprintf(&b, " (%s, trained)", plural.Of(u.Tokens, "token"))
	case u.Tokens > 0:
		fmt.Fprintf(&b, " (%s)", plural.Of(u.Tokens, "token"))
	}
	if u.Text != "" {
		b.WriteString(": " + oneLine(u.Text))
	}
	for i, name := range u.ToolCalls {
		b.WriteString(" -> " + strings.TrimSpace(oneLine(name)+" "+oneLine(u.Arguments[i])))
	}
	return b.String()
}

func (r *Scored) text(b *strings.Builder) {
	fmt.Fprintf(b, "\nscore     %s\n          reward %s%s\n", r.Appearance, number(r.Reward), because(r.Failure, r.Error))
	for _, n := range r.Rewards {
		fmt.Fprintf(b, "          %s = %s, weight %g%s\n", Line(n.Name), number(n.Value), n.Weight,
			because(n.Failure, n.Error))
		writeTraceback(b, n.Traceback)
	}
	writeMessages(b, r.Signals)
}

func writeMessages(b *strings.Builder, all []OfMessage) {
	for _, x := range all {
		fmt.Fprintf(b, "          message %d: %s %.6g", x.Message, Line(x.Name), x.Value)
		if x.Tokens > 0 {
			fmt.Fprintf(b, ", the mean of %s", plural.Of(x.Tokens, "token"))
		}
		b.WriteString("\n")
	}
}

func (g *Grouped) text(b *strings.Builder) {
	fmt.Fprintf(b, "\ngroup     %s\n", g.Appearance)
	fmt.Fprintf(b, "          %s\n", g.summary())
	fmt.Fprintf(b, "          advantage %s%s", number(g.Advantage), because(g.NoAdvantage, ""))
	if g.Estimator != "" {
		fmt.Fprintf(b, " (%s, compat %s)", g.Estimator, g.Compat)
	}
	b.WriteString("\n")
	writeMessages(b, g.Messages)
	if n, m := len(g.ChosenOver), len(g.RejectedFor); n+m > 0 {
		fmt.Fprintf(b, "          in %s: chosen in %d, rejected in %d\n", plural.Of(n+m, "pair"), n, m)
	}
}

// summary returns the group's statistics in one line, "" if they are not known.
func (g *Grouped) summary() string {
	if g.Count == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %s, %d valid; rewards %s to %s, mean %s, deviation %s", Line(g.GroupID), plural.Of(g.Count, "member"),
		g.Valid, number(g.Min), number(g.Max), number(g.Mean), number(g.StdPop))
}

func (c *Curated) text(b *strings.Builder) {
	fmt.Fprintf(b, "\ncurate    %s\n", c.URI)
	if c.Kept {
		fmt.Fprintf(b, "          kept by %s\n", cmp.Or(strings.Join(c.Rules, ", "), "-"))
		return
	}
	fmt.Fprintf(b, "          dropped: %s%s\n", Line(c.Reason), because("", c.Detail))
}

func (s *Submission) text(b *strings.Builder) {
	fmt.Fprintf(b, "\nsubmit    %s\n          %s: %s", s.URI, s.Backend, s.State)
	if s.Job != "" {
		fmt.Fprintf(b, ", job %s", s.Job)
	}
	if s.StepBefore != nil && s.StepAfter != nil {
		fmt.Fprintf(b, ", step %d to %d", *s.StepBefore, *s.StepAfter)
	}
	if p := s.Policy; p != nil {
		fmt.Fprintf(b, "; then %s, version %d answers", p.Model, p.Version)
	}
	if b.WriteString("\n"); s.Message != "" && s.State == receipts.JobFailed {
		fmt.Fprintf(b, "          %s\n", oneLine(s.Message))
	}
}

func because(class, text string) string {
	switch {
	case class == "" && text == "":
		return ""
	case class == "":
		return ": " + oneLine(text)
	case text == "":
		return ", " + Line(class)
	}
	return ", " + Line(class) + ": " + oneLine(text)
}

func number(x *float64) string {
	if x == nil {
		return "null"
	}
	return fmt.Sprintf("%.6g", *x)
}

func whole(x *int64) string {
	if x == nil {
		return "unknown"
	}
	return fmt.Sprint(*x)
}

func oneLine(s string) string { return shorten(Line(s), textWidth) }
