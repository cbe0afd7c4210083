package serve

import (
	"math"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/pipelines/look/model"
	"github.com/rollmill/rollmill/pipelines/look/page"
	"github.com/rollmill/rollmill/pipelines/look/query"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

// sideModel are trajectories side by side.
type sideModel struct {
	Heads  []memberView
	Shared []*page.Message // that all have
	All    int             // of these
	Hidden int             // before the first that is shown
	Steps  []step

	Answers []answerView
}

// step is a message of each trajectory, at the same distance from the first that
// differs.
type step struct {
	Number int
	Cells  []sideCell
}

// sideCell is a message, nil after a trajectory's end.
type sideCell struct {
	Message *page.Message
	Same    bool // as in the first trajectory
}

// side reads the members that are shown side by side: two, if they are named.
func (g *grouping) side(m *groupModel) error {
	from, err := countOf(g.r, "from")
	if err != nil {
		return err
	}
	first, err := countOf(g.r, "first")
	if err != nil {
		return err
	}
	rows, steps, size := g.rows[min(first, len(g.rows)):], sideSteps, sideText
	if len(rows) > sideBySide {
		rows = rows[:sideBySide]
		m.OtherURL = listed(g.r, page.Link("d", g.key, "g", g.id), "first", first+sideBySide)
	}
	a, b := g.r.FormValue("a"), g.r.FormValue("b")
	if a != "" || b != "" {
		if rows, err = g.pair(a, b); err != nil {
			return err
		}
		m.Pair, steps, size, m.OtherURL = true, pairSteps, pairText, ""
	}
	if len(rows) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(rows))
	records, err := g.x.Records(g.r.Context(), sorted)
	if err != nil {
		return err
	}
	shown := make([]*query.Record, len(rows))
	for i, row := range rows {
		shown[i] = &records[slices.Index(sorted, row)]
	}
	m.Example = text.Cut(jsontext.Lines(shown[0].Example), exampleBytes)
	m.Reference = text.Cut(jsontext.Lines(formats.AnswerOf(shown[0].Example, g.x.From.Rows.Columns)), maxText)
	more := g.align(&m.Side, shown, from, steps, size)
	for i := range m.Members {
		for _, head := range m.Side.Heads {
			if head.ID == m.Members[i].ID {
				m.Members[i].Fate = head.Fate
			}
		}
	}
	if more {
		m.MoreURL = listed(g.r, page.Link("d", g.key, "g", g.id), "a", a, "b", b, "first", first, "from", from+steps)
	}
	return nil
}

// pair returns the rows of two members.
func (g *grouping) pair(ids ...string) (rows []uint32, err error) {
	for _, id := range ids {
		row, ok := g.x.Find(id)
		if !ok || !slices.Contains(g.rows, row) {
			return nil, wrong("parameters a and b are ids of two of its trajectories",
				"group %q has no trajectory %q", g.id, id)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// align shows the messages of trajectories from the first that differs on, with the
// last of those before it. It reports whether there are more.
func (g *grouping) align(side *sideModel, shown []*query.Record, from, steps, size int) (more bool) {
	paths := make([][]int, len(shown))
	shared, longest := math.MaxInt, 0
	for i, t := range shown {
		paths[i] = t.Main()
		shared = min(shared, chat.Shared(&shown[0].Trajectory, &t.Trajectory, paths[0], paths[i]))
		longest = max(longest, len(paths[i]))
	}
	painters, texts := make([]*page.Painter, len(shown)), make([]string, len(shown))
	for i, t := range shown {
		c, head := conversationOf(g.x, t), g.member(t.Is)
		texts[i] = t.Answer
		head.Fate = c.Fate() // with the detail of the decision
		side.Heads = append(side.Heads, head)
		painters[i] = &page.Painter{Conversation: c, Text: size, Image: imageBytes, Images: pageImages / len(shown), Plain: true,
			URL: func(n int) string { return page.Link("d", g.key, "t", t.TrajectoryID, "message", n) }}
	}
	side.Answers = answers(side.Heads, texts, size)
	side.All, side.Hidden = shared, max(0, shared-steps)
	for _, n := range paths[0][side.Hidden:shared] {
		side.Shared = append(side.Shared, painters[0].Message(model.Place{Number: n, After: int(shown[0].Messages[n].Parent)}))
	}
	for k := shared + from; k < min(shared+from+steps, longest); k++ {
		s := step{Number: k, Cells: make([]sideCell, len(shown))}
		for i, t := range shown {
			if k >= len(paths[i]) {
				continue
			}
			before := -1
			if k > 0 {
				before = paths[i][k-1]
			}
			s.Cells[i].Message = painters[i].Message(model.Place{Number: paths[i][k], After: before})
			s.Cells[i].Same = i > 0 && k < len(paths[0]) &&
				chat.Shared(&shown[0].Trajectory, &t.Trajectory, paths[0][k:k+1], paths[i][k:k+1]) == 1
			if first := s.Cells[0].Message; i > 0 && first != nil && !s.Cells[i].Same {
				s.Cells[i].Message.MarkWords(first)
				if len(shown) == 2 {
					first.MarkWords(s.Cells[i].Message)
				}
			}
		}
		side.Steps = append(side.Steps, s)
	}
	return longest > shared+from+steps
}

// answerView is the answer of a member of a group beside those of others.
type answerView struct {
	memberView
	Answer page.Passage
	Same   bool // as the first
}

// answers returns the final answers of members, with the words marked that the first
// lacks; of two, in both.
func answers(heads []memberView, texts []string, limit int) (out []answerView) {
	for i, answer := range texts {
		v := answerView{memberView: heads[i], Answer: page.Passage{Piece: text.Cut(answer, limit)}}
		if v.Same = i > 0 && answer == texts[0]; i > 0 && !v.Same {
			v.Answer.Spans = page.Compared(v.Answer.Text, out[0].Answer.Text)
		}
		out = append(out, v)
	}
	if len(out) == 2 {
		out[0].Answer.Spans = page.Compared(out[0].Answer.Text, out[1].Answer.Text)
	}
	return out
}
