package trace

import (
	"context"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/look/find"
	"github.com/rollmill/rollmill/pipelines/look/model"
)

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
		scored.Signals = append(scored.Signals, model.OfMessage{Message: x.Message, Name: x.Component, Value: x.Value, Tokens: len(x.Values)})
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
		g.Messages = append(g.Messages, model.OfMessage{Message: l.Message, Name: "weight in the loss " + l.Loss, Value: l.Weight, Tokens: 0})
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
