package model

import (
	"context"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/look/query"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

// decisions returns what curate decided of some trajectories: in the dataset itself,
// or in the curated dataset that was made from it and is beside it.
func decisions(ctx context.Context, d *dataset.Dataset, ids []string) (map[string]Curated, error) {
	s, err := query.SourcesOf(ctx, d)
	if err != nil || s.Decisions == nil {
		return nil, err
	}
	from := s.Decisions
	asked := make(map[string]bool, len(ids))
	for _, id := range ids {
		asked[id] = true
	}
	out := map[string]Curated{}
	row := int64(0)
	table := schema.TableDecisions
	for r, err := range dataset.Each[decision.Decision](ctx, from, table, from.AllOf(table)) {
		if err != nil {
			return nil, err
		}
		if asked[r.TrajectoryID] {
			out[strings.Clone(r.TrajectoryID)] = Curated{Appearance: Appearance{from.URI(), row}, Kept: r.Kept,
				Reason: strings.Clone(r.Reason), Detail: strings.Clone(r.Detail), Rules: RulesOf(from)}
		}
		row++
	}
	return out, nil
}

// trains returns whether a trajectory trains, and why.
func trains(t *formats.Trajectory, c *Curated, noAdvantage string) (trains, why string) {
	switch {
	case c != nil && !c.Kept:
		return TrainsNo, "curate dropped it" + text.Because(c.Reason, c.Detail)
	case t.Status == outcomes.StatusFailed || t.Status == outcomes.StatusSkipped:
		return TrainsNo, "it " + map[string]string{outcomes.StatusFailed: "failed",
			outcomes.StatusSkipped: "was skipped"}[t.Status] + text.Because(t.FailureClass, t.Error)
	case noAdvantage != "":
		return TrainsNo, "it has no advantage: " + text.Line(noAdvantage)
	case c == nil:
		return TrainsUndecided, "no curated dataset that was made from it is beside it"
	case t.Advantage != nil && *t.Advantage == 0 && t.Advantages == nil:
		return TrainsYes, "curate kept it, but its advantage is 0"
	}
	return TrainsYes, "curate kept it"
}

// Judged returns the conversation of a row that was read before, with its group and the decision
// of curate, nil for none.
func Judged(t *formats.Trajectory, group *Grouped, decision *Curated) *Conversation {
	c := &Conversation{Group: group, Decision: decision, t: t}
	c.judge()
	return c
}

// Decide judges it by a decision of curate.
func (c *Conversation) Decide(decision *Curated) {
	c.Decision = decision
	c.judge()
}

func (c *Conversation) judge() {
	noAdvantage := ""
	if c.Group != nil {
		noAdvantage = c.Group.NoAdvantage
	}
	c.Trains, c.Why = trains(c.t, c.Decision, noAdvantage)
}
