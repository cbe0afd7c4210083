package view

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/pipelines/inspect"
	"github.com/rollmill/rollmill/pipelines/look/query"
)

// reading is a trajectory with what is known of it.
type reading struct {
	*Found
	x *query.Index
	t *query.Record
	c *inspect.Conversation
}

// read reads the trajectory that a request names.
func (s *Server) read(r *http.Request) (*reading, error) {
	f, x, err := s.indexed(r)
	if err != nil {
		return nil, err
	}
	t, err := x.Trajectory(r.Context(), segment(r, "id"))
	if err != nil {
		return nil, err
	}
	c := conversationOf(t)
	c.Signals, err = s.signals(r.Context(), f, int64(t.Is.Row))
	return &reading{f, x, t, c}, err
}

// signals returns those that scores have of a trajectory's messages.
func (s *Server) signals(ctx context.Context, f *Found, row int64) ([]formats.Signal, error) {
	if !f.Complete {
		return nil, nil // a rollout that is under way
	}
	d, err := s.open(ctx, f)
	if err != nil || d.Kind != formats.KindScores {
		return nil, err
	}
	type signals struct {
		Signals []formats.Signal `parquet:"signals,optional,list"`
	}
	rows, err := dataset.ReadAll[signals](ctx, d, "", dataset.Range{First: row, Rows: 1})
	if err != nil {
		return nil, err
	}
	return rows[0].Signals, nil
}

// conversationOf judges a trajectory by the decision about it.
func conversationOf(t *query.Record) *inspect.Conversation {
	var decision *inspect.Curated
	if t.Is.Decision != "" {
		decision = &inspect.Curated{Kept: t.Is.Decision == query.Kept, Detail: t.Detail}
		if !decision.Kept {
			decision.Reason = t.Is.Decision
		}
	}
	return inspect.Judged(&t.Trajectory, decision, t.Is.NoAdvantage)
}

// url returns the link to a trajectory of the same dataset, with the state of the list
// from which the reader came, and whether Markdown is shown as it is.
func (v *reading) url(r *http.Request, row uint32, pairs ...any) string {
	return listed(r, link("d", v.Key, "t", v.x.At(row).ID), append(pairs, "text", r.FormValue("text"))...)
}

// indexed returns the dataset that a request names with its index, built at the first request.
func (s *Server) indexed(r *http.Request) (*Found, *query.Index, error) {
	f, d, err := s.opened(r)
	if err != nil {
		return nil, nil, err
	}
	x, _, err := s.indexes.Index(r.Context(), d)
	return f, x, err
}

// indexOf returns the index of a dataset that is complete.
func (s *Server) indexOf(ctx context.Context, f *Found) (*query.Index, error) {
	d, err := s.open(ctx, f)
	if err != nil {
		return nil, err
	}
	x, _, err := s.indexes.Index(ctx, d)
	return x, err
}

// facts returns what is known of the whole trajectory.
func (v *reading) facts() []fact {
	t := &v.t.Trajectory
	facts := []fact{
		{Name: "status", Value: name(t.Status) + ", " + name(t.StopReason)},
		{Name: "reward", Value: orDash(t.Reward)},
		{Name: "advantage", Value: orDash(t.Advantage)},
		{Name: "example", Value: name(t.ExampleID)},
		{Name: "epoch", Value: fmt.Sprint(t.Epoch)},
		{Name: "generation", Value: fmt.Sprint(t.Generation)},
		{Name: "model", Value: cmp.Or(name(t.Model), "-")},
		{Name: "policy version", Value: cmp.Or(version(t.PolicyVersion), "-")},
		{Name: "tokens", Value: fmt.Sprintf("%d sampled, %d of prompts", t.SampledTokens, t.PromptTokens)},
		{Name: "conversation", Value: plural.Of(len(t.Messages), "message") + ", " + plural.Of(len(t.Calls), "call")},
		{Name: "token ids from", Value: cmp.Or(name(t.TokenSource), "-")},
	}
	if t.Advantage == nil && v.t.Is.NoAdvantage != "" {
		facts[2].Value = "none: " + name(v.t.Is.NoAdvantage)
	}
	if t.ForkCall != nil {
		facts = append(facts, fact{Name: "forked from", Value: fmt.Sprintf("%s, at call %d", t.ForkedFrom, *t.ForkCall)})
	}
	if t.FailureClass != "" {
		facts = append(facts, fact{Name: "failure", Value: name(t.FailureClass)})
	}
	if d := v.x.From.Members; d != nil {
		var how formats.GroupState
		if json.Unmarshal(d.State, &how) == nil && how.Estimator != "" {
			facts = append(facts, fact{Name: "estimator",
				Value: name(strings.TrimSuffix(how.Estimator+" "+how.Compat, " none"))})
		}
	}
	if d := v.x.From.Decisions; d != nil {
		var how formats.CurateState
		if json.Unmarshal(d.State, &how) == nil && len(how.Order) > 0 {
			facts = append(facts, fact{Name: "rules of curate", Value: name(strings.Join(how.Order, ", "))})
		}
	}
	return facts
}

// links returns the pages about the trajectory and those beside it.
func (v *reading) links(r *http.Request, s *Server) (out []fact) {
	t := &v.t.Trajectory
	rows := v.x.Members(v.t.Is.Group)
	if list := listed(r, link("d", v.Key, "trajectories")); strings.Contains(list, "?") {
		out = append(out, fact{Name: "list", URL: list})
	}
	out = append(out, fact{Name: "group", URL: link("d", v.Key, "g", v.t.Is.Group)})
	if t.ForkCall != nil {
		out = append(out, fact{Name: "its origin", URL: link("d", v.Key, "t", t.ForkedFrom)})
	}
	for k := range t.Calls { // their page shows them side by side
		id := formats.GroupOf(t.ExampleID, int(t.Epoch), t.TrajectoryID, new(int32(k)))
		if n, ok := v.x.GroupOf(id); ok {
			out = append(out, fact{Name: fmt.Sprintf("%s from call %d on", plural.Of(v.x.Group(n).Count, "other ending"), k), URL: link("d", v.Key, "g", id)})
		}
	}
	at := slices.Index(rows, v.t.Is.Row)
	if at > 0 {
		out = append(out, fact{Name: "previous in group", URL: v.url(r, rows[at-1])})
	}
	if at+1 < len(rows) {
		out = append(out, fact{Name: "next in group", URL: v.url(r, rows[at+1])})
	}
	if base := v.x.From.Rows.Base; base != nil {
		if f := s.datasets.input(v.Key, *base); f != nil {
			out = append(out, fact{Name: "base dataset", URL: link("d", f.Key, "t", t.TrajectoryID)})
		}
	}
	return append(out, fact{Name: "raw row (JSON)", URL: link("d", v.Key, "t", t.TrajectoryID, "raw")})
}

// setAdjacent sets the links to the trajectories or groups before and after one in the list
// from which the reader came. With a condition that cannot be evaluated, there is no list.
func (f *Frame) setAdjacent(r *http.Request, of uint32, url func(uint32) string, in query.List) error {
	var list listModel
	if err := list.read(r.URL.Query()); err != nil {
		return err
	}
	before, after, err := in.Adjacent(r.Context(), list.Query, of)
	if before != query.None {
		f.Prev = url(uint32(before))
	}
	if after != query.None {
		f.Next = url(uint32(after))
	}
	if bad := (*query.WhereError)(nil); errors.As(err, &bad) {
		return nil
	}
	return err
}

// input returns the dataset that one with a key refers to by a path, nil if the last
// listing does not have it.
func (c *catalogue) input(key string, ref dataset.Ref) *Found {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil || !strings.HasPrefix(ref.URI, "../") {
		return nil
	}
	return c.last.byKey[path.Join(key, ref.URI)]
}
