package serve

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/pipelines/look/page"
	"github.com/rollmill/rollmill/pipelines/look/query"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

// groupHeads are the columns of the list of groups: its name, and that of the column
// that it is sorted by.
var groupHeads = [][2]string{{"rows", "count"}, {"valid", "valid"}, {"failed", "failed"}, {"mean", "mean"}, {"std", "std"},
	{"least", "min"}, {"greatest", "max"},
	{"spread", "spread"}, {"solved", "solved"}, {"mean length", "length_mean"}, {"longest", "length_max"}}

func (s *Server) groupsPage(r *http.Request) (any, error) {
	m, x, err := s.listOf(r, "groups", (*query.Index).GroupList)
	if x == nil || err != nil {
		return m, err
	}
	m.head("group", "group_id", true)
	m.Heads = append(m.Heads, head{Name: "question", First: true})
	for _, h := range groupHeads {
		m.head(h[0], h[1], false)
	}
	if x.Decided() {
		m.head("kept", "kept", false)
		m.head("dropped", "dropped", false)
	}
	return m, m.fill(r, x, x.First, func(n uint32, texts firsts) []listCell { // all members have the same question
		return groupCells(m.Key, x, n, texts.question)
	})
}

func groupCells(key string, x *query.Index, number uint32, question string) []listCell {
	g, id := x.Group(number), x.GroupID(number)
	row := []listCell{shortID(id, page.Link("d", key, "g", id)), {Text: question, First: true}}
	for _, text := range []string{count(g.Count), count(g.Valid), count(g.Failed), page.Figure(g.Mean), page.Figure(g.Std),
		page.Figure(g.Min), page.Figure(g.Max),
		page.Figure(g.Spread), page.Figure(g.Solved), page.Figure(g.LengthMean), page.Figure(g.LengthMax)} {
		row = append(row, listCell{Text: text})
	}
	if x.Decided() {
		row = append(row, listCell{Text: count(g.Kept)}, listCell{Text: count(g.Dropped)})
	}
	return row
}

// maxComponents is the number of named rewards that the list shows.
const maxComponents = 6

func (s *Server) trajectoriesPage(r *http.Request) (any, error) {
	m, x, err := s.listOf(r, "trajectories", (*query.Index).Trajectories)
	if x == nil || err != nil {
		return m, err
	}
	m.head("trajectory", "trajectory_id", true)
	m.Heads = append(m.Heads, head{Name: "question", First: true}, head{Name: "answer", First: true})
	m.head("reward", "reward", false)
	m.head("advantage", "advantage", false)
	m.head("tokens", "sampled_tokens", false)
	m.head("status", "status", true)
	if x.Decided() {
		m.head("why dropped", "decision", true)
	}
	names := x.Components()
	for _, name := range names[:min(len(names), maxComponents)] {
		m.head(name, query.ComponentColumn(name), false)
	}
	m.head("group", "group_id", true)
	m.head("generation", "generation", false)
	return m, m.fill(r, x, func(row uint32) uint32 { return row }, func(row uint32, texts firsts) []listCell {
		return trajectoryCells(m.Key, x, x.At(row), texts)
	})
}

func trajectoryCells(key string, x *query.Index, t query.Trajectory, texts firsts) []listCell {
	status := t.Status
	switch {
	case t.Failure != "":
		status += ": " + t.Failure
	case t.Status != outcomes.StatusOK || t.Stop != outcomes.StopDone:
		status += ": " + t.Stop
	}
	row := []listCell{shortID(t.ID, page.Link("d", key, "t", t.ID)),
		{Text: texts.question, First: true}, {Text: texts.answer, First: true},
		{Text: page.Figure(t.Reward)}, {Text: page.Figure(t.Advantage), Bad: t.Advantage < 0}, {Text: count(t.SampledTokens)},
		{Text: status, Words: true, Bad: t.Failure != ""}}
	if x.Decided() {
		row = append(row, listCell{Text: strings.TrimPrefix(t.Decision, query.Kept), Words: true})
	}
	for _, c := range t.Components[:min(len(t.Components), maxComponents)] {
		row = append(row, listCell{Text: page.Figure(c.Value)})
	}
	return append(row, shortID(t.Group, page.Link("d", key, "g", t.Group)),
		listCell{Text: count(t.Generation)})
}

// firstBytes is how much of a question and of an answer a list shows.
const firstBytes = 120

// firsts are the beginnings of the texts of a row.
type firsts struct{ question, answer string }

// fill adds the rows of the page, each with the texts of its first trajectory. The first cell is a
// link that passes on the state of the list.
func (m *listModel) fill(r *http.Request, x *query.Index, first func(uint32) uint32, cells func(uint32, firsts) []listCell) error {
	if m.Problem != "" {
		return nil
	}
	var rows []uint32
	for _, number := range m.Page.Items {
		rows = append(rows, first(number))
	}
	texts, err := m.firstTexts(r, x, rows)
	for i, number := range m.Page.Items {
		row := listRow{number, cells(number, texts[rows[i]])}
		row.Cells[0].URL = listed(r, row.Cells[0].URL)
		m.Rows = append(m.Rows, row)
	}
	return err
}

// firstTexts returns the beginnings of the texts of rows. They are not in the index: the
// page comes without them, and its script asks for it again with them.
func (m *listModel) firstTexts(r *http.Request, x *query.Index, rows []uint32) (map[uint32]firsts, error) {
	if r.FormValue("texts") == "" {
		m.TextsURL = listed(r, m.path, "texts", "1")
		return nil, nil
	}
	out := map[uint32]firsts{}
	return out, query.Texts(r.Context(), x.From.Base, rows, func(row uint32, of *query.Row) {
		question := cmp.Or(formats.QuestionOf(of.Example, x.From.Rows.Columns), of.Example)
		out[row] = firsts{text.FirstWords(question, firstBytes), text.FirstWords(of.Answer, firstBytes)}
	}, "example", "answer")
}
