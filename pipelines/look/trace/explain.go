// Package trace follows one trajectory from rollout to submission through all datasets of a run.
package trace

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/look/find"
	"github.com/rollmill/rollmill/pipelines/look/model"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

// Trace is one trajectory from rollout to submission. A step that did not happen,
// or whose dataset is not under the URI, is absent.
type Trace struct {
	TrajectoryID string `json:"trajectory_id"`
	ExampleID    string `json:"example_id"`
	Epoch        int32  `json:"epoch"`
	Generation   int32  `json:"generation"`

	Rollout     *Recorded          `json:"rollout,omitempty"`
	Scores      []Scored           `json:"scores,omitempty"`
	Groups      []model.Grouped    `json:"groups,omitempty"`
	Curated     []model.Curated    `json:"curated,omitempty"`
	Submissions []Submission       `json:"submissions,omitempty"`
	Others      []model.Appearance `json:"others,omitempty"` // other trajectory datasets that have it
	Problems    []string           `json:"problems,omitempty"`
}

// Recorded is what rollout recorded.
type Recorded struct {
	*model.Conversation
	Traceback string `json:"traceback,omitempty"` // the whole of it, if the row's error is its last line
}

// Scored is the result in one score dataset.
type Scored struct {
	model.Appearance
	Reward  *float64          `json:"reward"`
	Rewards []model.Component `json:"rewards"`
	Failure string            `json:"failure,omitempty"`
	Error   string            `json:"error,omitempty"`
	Signals []model.OfMessage `json:"signals,omitempty"` // by the reward's name
}

// Submission is a submission of a curated dataset that kept the trajectory.
type Submission struct {
	URI        string           `json:"uri"`
	Backend    string           `json:"backend"`
	State      string           `json:"state"`
	Job        string           `json:"job,omitempty"`
	StepBefore *int64           `json:"step_before,omitempty"`
	StepAfter  *int64           `json:"step_after,omitempty"`
	Policy     *receipts.Policy `json:"policy,omitempty"`
	Message    string           `json:"message,omitempty"`
}

// Explain traces one trajectory, given its id or a unique prefix of it. It searches
// every dataset and receipt under a URI (a run, an epoch or a dataset) and the
// datasets from which these were made. It reads the ids and one row of wide
// datasets, and the matching row of thin ones. An unknown or ambiguous id is a
// fault.Error.
func Explain(ctx context.Context, uri, id string) (*Trace, error) {
	sets, err := find.Find(ctx, uri)
	if err != nil {
		return nil, err
	}
	sets.Follow(ctx)
	at, err := sets.Locate(ctx, id)
	if err != nil {
		return nil, err
	}
	s := &Trace{}
	for _, d := range sets.Datasets {
		if row, has := at.Rows[d]; has {
			if err := s.add(ctx, d, at.ID, row); err != nil {
				return nil, err
			}
		}
	}
	if s.Rollout != nil && len(s.Curated) > 0 {
		kept := slices.IndexFunc(s.Curated, func(c model.Curated) bool { return c.Kept })
		s.Rollout.Decide(&s.Curated[max(0, kept)])
	}
	s.submitted(sets.Receipts)
	s.Problems = sets.Problems
	return s, nil
}

// add adds the steps that one dataset records.
func (s *Trace) add(ctx context.Context, d *dataset.Dataset, id string, row int64) error {
	where := model.Appearance{URI: d.URI(), Row: row}
	switch {
	case d.Stage == find.StageCurate:
		return s.decided(ctx, d, row)
	case d.Kind == schema.KindScores:
		return s.scored(ctx, d, where)
	case d.Kind == schema.KindGroups:
		return s.grouped(ctx, d, id, where)
	case s.Rollout == nil:
		return s.rolled(ctx, d, where.Row)
	}
	s.Others = append(s.Others, where)
	return nil
}

func (s *Trace) named(id, example string, epoch, generation int32) {
	s.TrajectoryID, s.ExampleID, s.Epoch, s.Generation = id, example, epoch, generation
}

// rolled adds what rollout recorded.
func (s *Trace) rolled(ctx context.Context, d *dataset.Dataset, row int64) error {
	c, err := model.ConversationAt(ctx, d, row)
	if err != nil {
		return err
	}
	t := c.Trajectory()
	s.named(t.TrajectoryID, t.ExampleID, t.Epoch, t.Generation)
	s.Rollout = &Recorded{Conversation: c}
	s.Rollout.Traceback, err = d.Failure(ctx, t.Error)
	return err
}

func (s *Trace) scored(ctx context.Context, d *dataset.Dataset, where model.Appearance) error {
	r, err := find.ReadRow[formats.Score](ctx, d, "", where.Row)
	if err != nil {
		return err
	}
	s.named(r.TrajectoryID, r.ExampleID, r.Epoch, r.Generation)
	components := model.ComponentsOf(r.Rewards)
	for i := range components {
		if components[i].Traceback, err = d.Failure(ctx, components[i].Error); err != nil {
			return err
		}
	}
	scored := Scored{where, r.Reward, components, r.Failure, r.Error, nil}
	for _, x := range r.Signals {
		scored.Signals = append(scored.Signals, model.OfMessage{Message: x.Message, Name: x.Component,
			Value: x.Value, Tokens: len(x.Values)})
	}
	s.Scores = append(s.Scores, scored)
	return nil
}

func (s *Trace) grouped(ctx context.Context, d *dataset.Dataset, id string, where model.Appearance) error {
	m, err := find.ReadRow[formats.Member](ctx, d, "", where.Row)
	if err != nil {
		return err
	}
	s.named(m.TrajectoryID, m.ExampleID, m.Epoch, m.Generation)
	g := model.Grouped{Appearance: where, GroupID: m.GroupID, Reward: m.Reward, Advantage: m.Advantage, NoAdvantage: m.NoAdvantage}
	for _, a := range m.Advantages {
		g.Messages = append(g.Messages, model.OfMessage{Message: a.Message, Name: "advantage", Value: a.Value, Tokens: len(a.Tokens)})
	}
	for _, l := range m.Losses {
		g.Messages = append(g.Messages, model.OfMessage{Message: l.Message, Name: "weight in the loss " + l.Loss,
			Value: l.Weight, Tokens: 0})
	}
	g.Made(d)
	if err := g.Statistics(ctx, d); err != nil {
		return err
	}
	if err := g.Pairs(ctx, d, id); err != nil {
		return err
	}
	s.Groups = append(s.Groups, g)
	return nil
}

func (s *Trace) decided(ctx context.Context, d *dataset.Dataset, row int64) error {
	r, err := find.ReadRow[decision.Decision](ctx, d, schema.TableDecisions, row)
	if err != nil {
		return err
	}
	s.named(r.TrajectoryID, r.ExampleID, r.Epoch, r.Generation)
	s.Curated = append(s.Curated,
		model.Curated{Appearance: model.Appearance{URI: d.URI(), Row: row}, Kept: r.Kept, Reason: r.Reason, Detail: r.Detail, Rules: model.RulesOf(d),
			RowsDigest: d.RowsDigest.String()})
	return nil
}

// submitted adds the receipts of curated datasets that kept the trajectory.
func (s *Trace) submitted(receipts []find.Receipt) {
	for _, r := range receipts {
		for _, c := range s.Curated {
			if c.Kept && c.RowsDigest == r.CuratedDigest {
				s.Submissions = append(s.Submissions,
					Submission{r.URI, r.Backend, r.State, r.Job, r.StepBefore, r.StepAfter, r.Policy, r.Message})
				break
			}
		}
	}
}

// WriteText writes the trace as text, a paragraph per step.
func (s *Trace) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "trajectory %s: example %q, epoch %d, generation %d\n", text.Line(s.TrajectoryID), s.ExampleID, s.Epoch,
		s.Generation)
	if s.Rollout != nil {
		s.Rollout.text(&b)
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

func (r *Recorded) text(b *strings.Builder) {
	fmt.Fprintf(b, "\nrollout   %s\n", r.Appearance)
	for line := range strings.Lines(r.Outline()) {
		b.WriteString("          " + line)
	}
	writeTraceback(b, r.Traceback)
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
		fmt.Fprintf(b, "          %s\n", n)
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
