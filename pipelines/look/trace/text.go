package trace

import (
	"fmt"
	"io"
	"strings"

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
		if err := s.Rollout.text(&b); err != nil {
			return err
		}
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

func (r *Recorded) text(b *strings.Builder) error {
	fmt.Fprintf(b, "\nrollout   %s\n", r.Appearance)
	var facts strings.Builder
	err := r.Outline(&facts)
	for line := range strings.Lines(facts.String()) {
		b.WriteString("          " + line)
	}
	writeTraceback(b, r.Traceback)
	return err
}

func writeTraceback(b *strings.Builder, traceback string) {
	for line := range strings.Lines(strings.TrimRight(traceback, "\n")) {
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		fmt.Fprintf(b, "          | %s%s\n", indent, text.Line(line))
	}
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
