package model

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/dataset/joined"
	"github.com/rollmill/rollmill/formats/excerpt"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/pipelines/look/find"
	"github.com/rollmill/rollmill/pipelines/look/query"
	"github.com/rollmill/rollmill/pipelines/look/show"
	"github.com/rollmill/rollmill/pipelines/look/text"
	"github.com/rollmill/rollmill/storage/fault"
)

// Comparison is a group of a dataset with its members side by side.
type Comparison struct {
	URI       string   `json:"uri"`
	GroupID   string   `json:"group_id"`
	ExampleID string   `json:"example_id"`
	Reference string   `json:"reference,omitempty"`
	Mean      *float64 `json:"mean"` // of the rewards
	Min       *float64 `json:"min"`
	Max       *float64 `json:"max"`
	Shared    int      `json:"shared"` // messages on the main path, from its root, that all members have
	Members   []Peer   `json:"members"`
}

// Peer is a member of a group.
type Peer struct {
	Row           int64    `json:"row"`
	TrajectoryID  string   `json:"trajectory_id"`
	Generation    int32    `json:"generation"`
	Status        string   `json:"status"`
	Reward        *float64 `json:"reward"`
	Advantage     *float64 `json:"advantage"`
	SampledTokens int32    `json:"sampled_tokens"`
	Messages      int      `json:"messages"`
	Trains        string   `json:"trains"`
	Why           string   `json:"why"`
	Differs       string   `json:"differs,omitempty"` // the beginning of the first message that not all have
	Answer        string   `json:"answer,omitempty"`

	Decision string `json:"-"` // of curate: query.Kept, why it was dropped, or "" for none
}

// Compare reads the members of a group of the dataset at a URI. It scans the ids of
// the groups, and holds the members.
func Compare(ctx context.Context, uri, id string) (*Comparison, error) {
	s, rows, err := membersOf(ctx, uri, id)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, row := range rows {
		m, err := query.At(ctx, s.Rows, row, "trajectory_id")
		if err != nil {
			return nil, err
		}
		ids = append(ids, m.TrajectoryID)
	}
	var all []*Conversation
	if err := EachConversation(ctx, s.Rows, rows, ids, func(c *Conversation) { all = append(all, c) }); err != nil {
		return nil, err
	}
	first := all[0].t
	g := &Comparison{URI: s.Rows.URI(), GroupID: id, ExampleID: first.ExampleID, Reference: all[0].Reference(), Shared: math.MaxInt}
	for _, c := range all {
		g.Shared = min(g.Shared, chat.Shared(first, c.t, first.Main(), c.t.Main()))
	}
	for _, c := range all {
		t := c.t
		p := Peer{Row: c.Row, TrajectoryID: t.TrajectoryID, Generation: t.Generation, Status: t.Status, Reward: t.Reward,
			Advantage: t.Advantage, SampledTokens: t.SampledTokens, Messages: len(t.Messages), Trains: c.Trains, Why: c.Why,
			Answer: excerpt.Start(t.Answer, text.LineWidth)}
		if c.Decision != nil {
			p.Decision = cmp.Or(c.Decision.Reason, query.Kept)
		}
		if path := t.Main(); g.Shared < len(path) {
			p.Differs = excerpt.Start(Said(&t.Messages[path[g.Shared]]), text.LineWidth)
		}
		g.Members = append(g.Members, p)
	}
	if rewards := rewardsOf(g.Members); len(rewards) > 0 {
		g.Mean = new(sum(rewards, 0, 1) / float64(len(rewards)))
		g.Min, g.Max = new(slices.Min(rewards)), new(slices.Max(rewards))
	}
	return g, nil
}

// membersOf finds the rows of a group.
func membersOf(ctx context.Context, uri, id string) (s *joined.Source, rows []int64, err error) {
	if s, err = openJoined(ctx, uri); err != nil {
		return nil, nil, err
	}
	var some []string
	for r, err := range query.Rows(ctx, s.Rows, query.Query{}, "example_id", "epoch", "group_id", "forked_from", "fork_call") {
		if err != nil {
			return nil, nil, err
		}
		if group := r.Group(); group == id {
			rows = append(rows, r.Number)
		} else if len(some) < find.MaxNamed && !slices.Contains(some, group) {
			some = append(some, strings.Clone(group))
		}
	}
	if rows != nil {
		return s, rows, nil
	}
	hint := ""
	if some != nil {
		hint = "its groups are " + strings.Join(some, ", ") + ", ..."
	}
	return nil, nil, fault.Invalid(s.Rows.URI(), hint, nil, "it has no group %q", id)
}

func rewardsOf(members []Peer) (out []float64) {
	for i := range members {
		if r := members[i].Reward; r != nil {
			out = append(out, *r)
		}
	}
	return out
}

// sum returns the sum of powers of the distances from a number.
func sum(values []float64, from, power float64) (sum float64) {
	for _, v := range values {
		sum += math.Pow(v-from, power)
	}
	return sum
}

// GroupFacts returns what is known of a group from its members.
func GroupFacts(members []Peer) []Fact {
	statuses, kept, decided, short, long := map[string]int{}, 0, 0, int32(math.MaxInt32), int32(0)
	for _, m := range members {
		statuses[m.Status]++
		short, long = min(short, m.SampledTokens), max(long, m.SampledTokens)
		if m.Decision != "" {
			decided++
		}
		if m.Decision == query.Kept {
			kept++
		}
	}
	var parts []string
	for _, s := range outcomes.Statuses {
		if n := statuses[s]; n > 0 && n < len(members) {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	all := plural.Of(len(members), "trajectory") + ": " + strings.Join(parts, ", ")
	out := []Fact{{"members", strings.TrimSuffix(all, ": ")}}
	rewards := rewardsOf(members)
	reward := fmt.Sprintf("%d of %d have one", len(rewards), len(members))
	if n := float64(len(rewards)); n > 0 {
		mean := sum(rewards, 0, 1) / n
		reward += fmt.Sprintf(": mean %.6g, std %.6g, %.6g to %.6g", mean, math.Sqrt(sum(rewards, mean, 2)/n),
			slices.Min(rewards), slices.Max(rewards))
	}
	out = append(out, Fact{"reward", reward}, Fact{"tokens", fmt.Sprintf("%d to %d sampled", short, long)})
	if decided > 0 {
		out = append(out, Fact{"curate", fmt.Sprintf("kept %d of %d", kept, decided)})
	}
	return out
}

// Write writes the members as a table, in text or in Markdown.
func (g *Comparison) Write(w io.Writer, markdown bool) error {
	b := bufio.NewWriter(w)
	p := &text.Layout{W: b, Markdown: markdown}
	if markdown {
		fmt.Fprintf(b, "## Group %s\n\n", text.Span(text.Line(g.GroupID)))
	}
	p.Field("group", "%s: %s, example %q", text.Line(g.GroupID), plural.Of(len(g.Members), "member"), g.ExampleID)
	p.Field("dataset", "%s", g.URI)
	for _, f := range GroupFacts(g.Members) {
		p.Field(f.Name, "%s", f.Value)
	}
	if g.Reference != "" {
		p.Field("reference", "%s", text.OneLine(g.Reference))
	}
	p.Field("shared", "the first %s", plural.Of(g.Shared, "message"))
	rows := make([][]string, len(g.Members))
	for i := range g.Members {
		m := &g.Members[i]
		rows[i] = []string{fmt.Sprint(m.Row), text.Cell(m.TrajectoryID), fmt.Sprint(m.Generation), text.Cell(m.Status),
			text.Float(m.Reward), text.Float(m.Advantage),
			fmt.Sprint(m.SampledTokens), fmt.Sprint(m.Messages), m.Trains, text.Cell(m.Differs)}
	}
	p.Table([]string{"row", "trajectory_id", "generation", "status", "reward", "advantage", "sampled", "messages", "trains",
		fmt.Sprintf("message %d of the path", g.Shared)}, rows)
	fmt.Fprintln(b)
	for i := range g.Members {
		if m := &g.Members[i]; m.Trains == TrainsNo {
			p.Field(fmt.Sprintf("row %d", m.Row), "does not train: %s", m.Why)
		}
	}
	return b.Flush()
}

// RawGroup is Raw for the members of a group, with all their columns and those of
// the base.
func RawGroup(ctx context.Context, uri, id string, f func(show.Row) error) error {
	s, rows, err := membersOf(ctx, uri, id)
	if err != nil {
		return err
	}
	for _, row := range rows {
		is, err := rawRow(ctx, s, row)
		if err != nil {
			return err
		}
		if err := f(show.Row{Row: row, Is: is}); err != nil {
			return err
		}
	}
	return nil
}
