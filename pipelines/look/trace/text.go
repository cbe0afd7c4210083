package trace

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/pipelines/look/model"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

// WriteText writes the trace as text, a paragraph per step.
func (s *Trace) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "trajectory %s: example %q, epoch %d, generation %d\n", text.Line(s.TrajectoryID), s.ExampleID, s.Epoch,
		s.Generation)
	if s.Rollout != nil {
		s.Rollout.Text(&b)
	}
	for _, a := range s.Others {
		fmt.Fprintf(&b, "\nalso      %s\n", a)
	}
	for i := range s.Scores {
		s.Scores[i].Text(&b)
	}
	for i := range s.Groups {
		s.Groups[i].Text(&b)
	}
	for i := range s.Curated {
		s.Curated[i].Text(&b)
	}
	for i := range s.Submissions {
		s.Submissions[i].Text(&b)
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

func (t *RolloutStep) Text(b *strings.Builder) {
	fmt.Fprintf(b, "\nrollout   %s\n", t.Appearance)
	fmt.Fprintf(b, "          %s (%s)", text.Line(t.Status), text.Line(t.StopReason))
	if t.FailureClass != "" {
		fmt.Fprintf(b, ", %s: %s", text.Line(t.FailureClass), text.OneLine(t.Error))
	}
	fmt.Fprintf(b, "; model %s, policy version %s\n", cmp.Or(text.Line(t.Model), "-"), text.Or(t.PolicyVersion, "%d", "unknown"))
	fmt.Fprintf(b, "          %s, %s, %s, %s\n", plural.Of(t.Calls, "call"), plural.Of(t.PromptTokens, "prompt token"),
		plural.Of(t.SampledTokens, "sampled token"), plural.Of(t.Branches, "branch"))
	writeTraceback(b, t.Traceback)
	for i, m := range t.Messages {
		fmt.Fprintf(b, "          %s\n", m.line(i, t.Messages))
	}
	if t.Answer != "" {
		fmt.Fprintf(b, "          answer: %s\n", text.OneLine(t.Answer))
	}
	if t.Reference != "" {
		fmt.Fprintf(b, "          reference: %s\n", text.OneLine(t.Reference))
	}
	if t.Reward != nil || len(t.Rewards) > 0 {
		fmt.Fprintf(b, "          reward %s, recorded with it%s\n", text.Exact(t.Reward), model.ListComponents(t.Rewards))
	}
}

func writeTraceback(b *strings.Builder, traceback string) {
	for line := range strings.Lines(strings.TrimRight(traceback, "\n")) {
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		fmt.Fprintf(b, "          | %s%s\n", indent, text.Line(line))
	}
}

// line returns a message as one line, with the number of its parent if that is not
// the message before.
func (u MessageSummary) line(i int, all []MessageSummary) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s", i, text.Line(u.Role))
	if int(u.Parent) != i-1 {
		fmt.Fprintf(&b, " after %d", u.Parent)
	}
	for _, note := range []string{u.Branch, u.PrefixBreak} {
		if note != "" {
			fmt.Fprintf(&b, " [%s]", text.OneLine(note))
		}
	}
	switch {
	case u.Trained:
		fmt.Fprintf(&b, " (%s, trained)", plural.Of(u.Tokens, "token"))
	case u.Tokens > 0:
		fmt.Fprintf(&b, " (%s)", plural.Of(u.Tokens, "token"))
	}
	if u.Text != "" {
		b.WriteString(": " + text.OneLine(u.Text))
	}
	for i, name := range u.ToolCalls {
		b.WriteString(" -> " + strings.TrimSpace(text.OneLine(name)+" "+text.OneLine(u.Arguments[i])))
	}
	return b.String()
}

func (r *Scored) Text(b *strings.Builder) {
	fmt.Fprintf(b, "\nscore     %s\n          reward %s%s\n", r.Appearance, text.Exact(r.Reward), text.Because(r.Failure, r.Error))
	for _, n := range r.Rewards {
		fmt.Fprintf(b, "          %s = %s, weight %g%s\n", text.Line(n.Name), text.Exact(n.Value), n.Weight,
			text.Because(n.Failure, n.Error))
		writeTraceback(b, n.Traceback)
	}
	model.WriteMessages(b, r.Signals)
}

func (s *Submission) Text(b *strings.Builder) {
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
		fmt.Fprintf(b, "          %s\n", text.OneLine(s.Message))
	}
}
