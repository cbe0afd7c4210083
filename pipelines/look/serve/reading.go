package serve

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/pipelines/look/catalogue"
	"github.com/rollmill/rollmill/pipelines/look/model"
	"github.com/rollmill/rollmill/pipelines/look/page"
	"github.com/rollmill/rollmill/pipelines/look/query"
)

// reading is a trajectory with what is known of it.
type reading struct {
	*catalogue.Entry
	x *query.Index
	t *query.Record
	c *model.Conversation
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
	c := conversationOf(x, t)
	c.Signals, err = model.SignalsOf(r.Context(), x.From.Rows, int64(t.Is.Row))
	return &reading{f, x, t, c}, err
}

// conversationOf judges a trajectory by the decision about it.
func conversationOf(x *query.Index, t *query.Record) *model.Conversation {
	var decision *model.Curated
	if t.Is.Decision != "" {
		decision = &model.Curated{Kept: t.Is.Decision == query.Kept, Detail: t.Detail, Rules: model.RulesOf(x.From.Decisions)}
		if !decision.Kept {
			decision.Reason = t.Is.Decision
		}
	}
	group := &model.Grouped{NoAdvantage: t.Is.NoAdvantage}
	if x.From.Members != nil {
		group.Made(x.From.Members)
	}
	c := model.Judged(&t.Trajectory, group, decision)
	c.Columns, c.NoReward = x.From.Rows.Columns, cmp.Or(t.Is.Unscored, t.Is.NoAdvantage)
	return c
}

// url returns the link to a trajectory of the same dataset, with the state of the list
// from which the reader came, and whether Markdown is shown as it is.
func (v *reading) url(r *http.Request, row uint32, pairs ...any) string {
	return listed(r, page.Link("d", v.Key, "t", v.x.At(row).ID), append(pairs, "text", r.FormValue("text"))...)
}

// indexed returns the dataset that a request names with its index, built at the first request.
func (s *Server) indexed(r *http.Request) (*catalogue.Entry, *query.Index, error) {
	f, d, err := s.opened(r)
	if err != nil {
		return nil, nil, err
	}
	x, _, err := s.indexes.Index(r.Context(), d)
	return f, x, err
}

// links returns the pages about the trajectory and those beside it.
func (v *reading) links(r *http.Request, s *Server) (out []Crumb) {
	t := &v.t.Trajectory
	rows := v.x.Members(v.t.Is.Group)
	if list := listed(r, page.Link("d", v.Key, "trajectories")); strings.Contains(list, "?") {
		out = append(out, Crumb{"list", list})
	}
	out = append(out, Crumb{"group", page.Link("d", v.Key, "g", v.t.Is.Group)})
	if t.ForkCall != nil {
		in := v.Key
		if ref := v.x.From.Rows.Input("origins"); ref != nil {
			if f := s.datasets.Input(v.Key, *ref); f != nil {
				in = f.Key
			}
		}
		out = append(out, Crumb{"its origin", page.Link("d", in, "t", t.ForkedFrom)})
	}
	for k := range t.Calls { // their page shows them side by side
		id := formats.GroupOf(t.ExampleID, int(t.Epoch), t.TrajectoryID, new(int32(k)))
		if n, ok := v.x.GroupOf(id); ok {
			out = append(out, Crumb{fmt.Sprintf("%s from call %d on", plural.Of(v.x.Group(n).Count,
				"other ending"), k), page.Link("d", v.Key, "g", id)})
		}
	}
	at := slices.Index(rows, v.t.Is.Row)
	if at > 0 {
		out = append(out, Crumb{"previous in group", v.url(r, rows[at-1])})
	}
	if at+1 < len(rows) {
		out = append(out, Crumb{"next in group", v.url(r, rows[at+1])})
	}
	if base := v.x.From.Rows.Base; base != nil {
		if f := s.datasets.Input(v.Key, *base); f != nil {
			out = append(out, Crumb{"base dataset", page.Link("d", f.Key, "t", t.TrajectoryID)})
		}
	}
	return append(out, Crumb{"raw row (JSON)", page.Link("d", v.Key, "t", t.TrajectoryID, "raw")})
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

// rawPage writes the row as JSON, with every column.
func (s *Server) rawPage(w http.ResponseWriter, r *http.Request) error {
	_, x, err := s.indexed(r)
	if err != nil {
		return err
	}
	id := segment(r, "id")
	row, ok := x.Find(id)
	if !ok {
		return missing("no trajectory %q", id)
	}
	values, err := model.RawRow(r.Context(), x.From.Rows, int64(row))
	if err != nil {
		return err
	}
	data, err := values.MarshalJSON()
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, data, "", " "); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, err = w.Write(out.Bytes())
	return err
}
