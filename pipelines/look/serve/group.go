package serve

import (
	"cmp"
	"math"
	"net/http"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/pipelines/look/model"
	"github.com/rollmill/rollmill/pipelines/look/page"
	"github.com/rollmill/rollmill/pipelines/look/query"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

// The sizes of a group's page.
const (
	maxInTable = 256 // rows of the table
	sideBySide = 8   // members whose messages are shown at once
	sideSteps  = 8   // messages of each after those that all have
	sideText   = 700 // bytes of a text
	pairSteps  = 50
	pairText   = 3000
)

type groupModel struct {
	Frame
	Facts      []model.Fact
	Example    text.Piece
	Reference  text.Piece
	Components []string
	Members    []memberView
	Left       int // members that are not in the table
	Pair       bool
	A, B       string // ids of the pair to choose
	Path       string // of the page
	WholeURL   string // the page of the whole group
	Side       sideModel
	MoreURL    string // further messages
	OtherURL   string // further members
}

// memberView is a row of the table.
type memberView struct {
	query.Trajectory
	URL               string
	Reward, Advantage *float64
	Fate              model.Fate
}

// Negative reports whether training works against the member.
func (m memberView) Negative() bool { return m.Advantage != nil && *m.Advantage < 0 }

func (s *Server) groupPage(r *http.Request) (any, error) {
	f, x, err := s.indexed(r)
	if err != nil {
		return nil, err
	}
	id := segment(r, "group")
	rows := x.Members(id)
	if rows == nil {
		return nil, missing("no group %q in %s", id, f.Key)
	}
	m := &groupModel{Frame: Frame{Title: "Group " + id,
		Trail: append(s.trailOf(f), Crumb{"groups", listed(r, page.Link("d", f.Key, "groups"))})},
		Path: page.Link("d", f.Key, "g", id), WholeURL: listed(r, page.Link("d", f.Key, "g", id)), Components: x.Components()}
	g := &grouping{r: r, key: f.Key, x: x, id: id, rows: rows}
	number, _ := x.GroupOf(id)
	peers := make([]model.Peer, len(rows))
	for i, row := range rows {
		t := x.At(row)
		peers[i] = model.Peer{Status: t.Status, Reward: notNaN(t.Reward), SampledTokens: t.SampledTokens, Decision: t.Decision}
	}
	m.Facts = append([]model.Fact{{Name: "example", Value: text.Name(x.At(rows[0]).Example)}}, model.GroupFacts(peers)...)
	for _, row := range rows[:min(len(rows), maxInTable)] {
		m.Members = append(m.Members, g.member(x.At(row)))
	}
	m.Left = len(rows) - len(m.Members)
	m.A = cmp.Or(r.FormValue("a"), m.Members[0].ID)
	m.B = cmp.Or(r.FormValue("b"), m.Members[min(1, len(m.Members)-1)].ID)
	url := func(n uint32) string { return listed(r, page.Link("d", f.Key, "g", x.GroupID(n))) }
	if err := m.setAdjacent(r, number, url, x.GroupList()); err != nil {
		return nil, err
	}
	return m, g.side(m)
}

// grouping makes the page of a group.
type grouping struct {
	r    *http.Request
	key  string
	x    *query.Index
	id   string
	rows []uint32
}

func (g *grouping) member(t query.Trajectory) memberView {
	v := memberView{Trajectory: t, URL: page.Link("d", g.key, "t", t.ID), Reward: notNaN(t.Reward), Advantage: notNaN(t.Advantage)}
	v.Status, v.Unscored, v.NoAdvantage = text.Name(t.Status), text.Name(t.Unscored), text.Name(t.NoAdvantage)
	if t.Failure != "" {
		v.Status += ": " + text.Name(t.Failure)
	}
	v.Fate = conversationOf(g.x, &query.Record{Trajectory: formats.Trajectory{Status: t.Status, FailureClass: t.Failure,
		Advantage: v.Advantage}, Is: t}).Fate()
	return v
}

// notNaN returns a number of an index, nil for null.
func notNaN(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}
