// Package model is what commands and pages say of a message, a trajectory and a group: the
// facts, the place of each message in the tree, whether its tokens train and why, and what score,
// group and curate made of it. Text is written here too; pages are made of the same values in
// package page.
package model

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/joined"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/look/find"
	"github.com/rollmill/rollmill/pipelines/look/query"
	"github.com/rollmill/rollmill/pipelines/look/show"
	"github.com/rollmill/rollmill/storage/fault"
)

// Conversation is one trajectory of a dataset, joined with its base.
type Conversation struct {
	Appearance
	Is       show.Values `json:"is"`                 // all its columns
	Group    *Grouped    `json:"group,omitempty"`    // of a dataset with table _groups
	Decision *Curated    `json:"decision,omitempty"` // of curate, if it was made here
	Trains   string      `json:"trains"`             // TrainsYes, TrainsNo, or TrainsUndecided
	Why      string      `json:"why"`                // one line

	Signals []formats.Signal `json:"-"` // of its messages in scores; a caller of Judged sets them: see SignalsOf

	Columns formats.FieldNames `json:"-"` // of the examples

	NoReward string `json:"-"` // why the reward is null, if it is known

	t *formats.Trajectory
}

// Whether a trajectory trains.
const (
	TrainsYes       = "yes"
	TrainsNo        = "no"
	TrainsUndecided = "undecided" // curate did not see it yet
)

// Converse reads one trajectory of the dataset at a URI, given its id or a unique
// prefix of it. It reads the ids and one row.
func Converse(ctx context.Context, uri, id string) (*Conversation, error) {
	s, err := openJoined(ctx, uri)
	if err != nil {
		return nil, err
	}
	g := &find.Found{Root: s.Rows.URI(), Datasets: []*dataset.Dataset{s.Rows}}
	if id, err = g.CompleteID(ctx, id); err != nil {
		return nil, err
	}
	row, err := find.Scan(ctx, s.Rows, "", func(other string) bool { return other == id })
	if err != nil {
		return nil, err
	}
	if row < 0 {
		return nil, missing(ctx, g, s.Rows, id)
	}
	decided, err := decisions(ctx, s.Rows, []string{id})
	if err != nil {
		return nil, err
	}
	c, err := conversation(ctx, s, row, decided)
	if err != nil {
		return nil, err
	}
	if c.Is, err = rawRow(ctx, s, row); err != nil {
		return nil, err
	}
	if c.Group != nil {
		if err := c.Group.Statistics(ctx, s.Rows); err != nil {
			return nil, err
		}
	}
	c.Signals, err = SignalsOf(ctx, s.Rows, row)
	return c, err
}

// ConversationAt reads a row of a dataset with all its columns, of which nothing is decided.
func ConversationAt(ctx context.Context, d *dataset.Dataset, row int64) (*Conversation, error) {
	s, err := joined.Of(ctx, d)
	if err != nil {
		return nil, err
	}
	c, err := conversation(ctx, s, row, nil)
	if err == nil {
		c.Is, err = rawRow(ctx, s, row)
	}
	return c, err
}

// SignalsOf returns those that a dataset of scores has of a trajectory's messages.
func SignalsOf(ctx context.Context, d *dataset.Dataset, row int64) ([]formats.Signal, error) {
	if d.Kind != schema.KindScores {
		return nil, nil
	}
	r, err := query.At(ctx, d, row, "signals")
	if err != nil {
		return nil, err
	}
	return r.Signals, nil
}

// together is how many rows are read at once.
const together = 4

// EachConversation reads rows of a dataset, whose ids are given, and calls f with each, in order.
// Few are in memory at once.
func EachConversation(ctx context.Context, d *dataset.Dataset, rows []int64, ids []string, f func(*Conversation)) error {
	s, err := joined.Of(ctx, d)
	if err != nil {
		return err
	}
	decided, err := decisions(ctx, d, ids)
	if err != nil {
		return err
	}
	for at := 0; at < len(rows); at += together {
		read := make([]*Conversation, min(together, len(rows)-at))
		g, ctx := errgroup.WithContext(ctx)
		for i := range read {
			g.Go(func() (err error) {
				read[i], err = conversation(ctx, s, rows[at+i], decided)
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		for _, c := range read {
			f(c)
		}
	}
	return nil
}

// conversation reads a row, with why it has no reward or advantage, and judges it by the decisions.
func conversation(ctx context.Context, s *joined.Source, row int64, decided map[string]Curated) (*Conversation, error) {
	is, err := query.At(ctx, s.Rows, row, "trajectory_id", "failure", "no_advantage")
	if err != nil {
		return nil, err
	}
	c := &Conversation{Appearance: Appearance{s.Rows.URI(), row}, Columns: s.Rows.Columns, NoReward: cmp.Or(is.Failure, is.NoAdvantage)}
	for c.t, err = range s.Each(ctx, dataset.Range{First: row, Rows: 1}, joined.Whole) {
		if err != nil {
			return nil, err
		}
	}
	if s.Rows.Kind == schema.KindGroups {
		c.Group = &Grouped{Appearance: c.Appearance, GroupID: c.t.Group(), Reward: c.t.Reward,
			Advantage: c.t.Advantage, NoAdvantage: is.NoAdvantage}
		c.Group.Made(s.Rows)
	}
	if d, ok := decided[is.TrajectoryID]; ok {
		c.Decision = &d
	}
	c.judge()
	return c, nil
}

// openJoined opens a dataset, even if a gate refused it, with its base.
func openJoined(ctx context.Context, uri string) (*joined.Source, error) {
	d, err := dataset.Open(ctx, uri, dataset.OpenOptions{IgnoreGates: true})
	if err != nil {
		return nil, err
	}
	return joined.Of(ctx, d)
}

// missing returns the error of an id that the dataset's rows do not have.
func missing(ctx context.Context, g *find.Found, d *dataset.Dataset, id string) error {
	if dropped, err := decisions(ctx, d, []string{id}); err != nil {
		return err
	} else if c, ok := dropped[id]; ok && !c.Kept {
		return fault.Invalid(g.Root, "rollmill explain shows it from rollout on", nil,
			"curate dropped trajectory %q: %s",
			id, strings.TrimSpace(c.Reason+" "+c.Detail))
	}
	hint, err := g.Nearest(ctx, id)
	if err != nil {
		return err
	}
	return fault.Invalid(g.Root, hint, nil, "it has no trajectory %q", id)
}

// rawRow returns all columns of a row. Those of the thin dataset replace those of
// its base.
func rawRow(ctx context.Context, s *joined.Source, row int64) (show.Values, error) {
	out, err := rawOf(ctx, s.Base, row)
	if err != nil || s.Rows == s.Base {
		return out, err
	}
	thin, err := rawOf(ctx, s.Rows, row)
	if s.Rows.Kind == schema.KindScores { // the base's was made of other rewards
		thin = append(thin, show.Value{Name: "advantage", Value: (*float64)(nil)})
	}
	for _, v := range thin {
		if i := slices.IndexFunc(out, func(o show.Value) bool { return o.Name == v.Name }); i >= 0 {
			out[i] = v
		} else {
			out = append(out, v)
		}
	}
	return out, err
}

func rawOf(ctx context.Context, d *dataset.Dataset, row int64) (out show.Values, err error) {
	err = show.EachRow(ctx, d, "", nil, dataset.Range{First: row, Rows: 1}, func(r show.Row) error {
		out = r.Is
		return nil
	})
	return out, err
}

// RawRow returns all columns of a row of a dataset, joined with its base.
func RawRow(ctx context.Context, d *dataset.Dataset, row int64) (show.Values, error) {
	s, err := joined.Of(ctx, d)
	if err != nil {
		return nil, err
	}
	return rawRow(ctx, s, row)
}

// Reference returns the answer of the example, "" if it has none.
func (c *Conversation) Reference() string { return formats.AnswerOf(c.t.Example, c.Columns) }

// Question returns the question of the example, or what the user says first, "" without both.
func (c *Conversation) Question() string {
	question := formats.QuestionOf(c.t.Example, c.Columns)
	for i := 0; question == "" && i < len(c.t.Messages); i++ {
		if m := &c.t.Messages[i]; m.Role == "user" {
			question = m.Content
		}
	}
	return question
}

// Trajectory returns the row, joined with its base. It is not a copy.
func (c *Conversation) Trajectory() *formats.Trajectory { return c.t }
