package view

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/pipelines/report"
)

// The sizes of a trajectory's page.
const (
	pageMessages = 1000
	pageTexts    = 2_000_000 // bytes of texts, shared by the messages
	maxText      = 6000      // bytes of a text
	minText      = 600
	exampleBytes = 20_000
	pageTokens   = 6000 // shared by the sampled messages
	minTokens    = 20
	maxCandidate = 50
)

type trajectoryModel struct {
	Frame
	Facts      []fact
	Links      []fact // to other pages
	Trains     fate
	Reward     *float64
	NoReward   string // why it is null
	Components []componentView
	Steps      []float64 // shaped rewards, if they are not those of the messages
	Error      report.Piece
	Traceback  report.Piece
	Example    report.Piece
	Reference  report.Piece
	Answer     report.Piece
	Branches   []branch
	Messages   []*messageView
	Outline    []outlineItem // of these messages
	From, Of   int           // of the messages
	Earlier    string
	Later      string
	Candidates []candidateView
	Artifacts  []artifactView
	Sequences  *sequencesView
	Tokens     bool
	TokensURL  string // the other view of the tokens
	Plain      bool   // Markdown is shown as it is
	PlainURL   string // the other view of Markdown
	Problems   []string
}

// fact is a value with its name, or a link.
type fact struct{ Name, Value, URL string }

type componentView struct {
	Name    string
	Value   *float64
	Weight  float64
	Adds    *float64 // to the reward, if it is the weighted sum
	Failure string

	Traceback report.Piece
}

type candidateView struct {
	Number  int
	Notes   string
	Message int
	Text    report.Piece
}

// artifactView is a file that the attempt left.
type artifactView struct {
	formats.Artifact
	Text report.Piece
}

func (s *Server) trajectoryPage(r *http.Request) (any, error) {
	v, err := s.read(r)
	if err != nil {
		return nil, err
	}
	from, err := countOf(r, "from")
	if err != nil {
		return nil, err
	}
	t, self := &v.t.Trajectory, v.t.Is.Row
	m := &trajectoryModel{Frame: Frame{Title: "Trajectory " + t.TrajectoryID,
		Trail: append(s.trailOf(v.Found), Crumb{"group " + t.Group(), link("d", v.Key, "g", v.t.Is.Group)})},
		Tokens: r.FormValue("tokens") != "", Plain: r.FormValue("text") == plainText, Problems: v.x.From.Problems}
	url := func(row uint32) string { return v.url(r, row) }
	if err := m.setAdjacent(r, self, url, v.x.Trajectories()); err != nil {
		return nil, err
	}
	m.Facts, m.Links = v.facts(), v.links(r, s)
	m.TokensURL = v.url(r, self, "tokens", "1")
	if m.Tokens {
		m.TokensURL = v.url(r, self)
	}
	m.PlainURL = otherText(r, link("d", v.Key, "t", t.TrajectoryID), "tokens", r.FormValue("tokens"), "from", zero(from))
	m.Trains = fateOfAll(v.c)
	m.Reward, m.NoReward = t.Reward, name(cmp.Or(v.t.Is.Unscored, v.t.Is.NoAdvantage))
	m.Components = componentsOf(t.Rewards)
	if err := m.tracebacks(r, v); err != nil {
		return nil, err
	}
	m.Error, m.Answer = report.Cut(t.Error, maxText), report.Cut(t.Answer, maxText)
	m.Example = report.Cut(jsontext.Lines(t.Example), exampleBytes)
	m.Reference = report.Cut(jsontext.Lines(formats.AnswerOf(t.Example, v.x.From.Rows.Columns)), maxText)
	m.messages(r, v, from)
	for i := range t.Candidates[:min(len(t.Candidates), maxCandidate)] {
		m.Candidates = append(m.Candidates, candidateOf(t, i))
	}
	for _, a := range t.Artifacts {
		m.Artifacts = append(m.Artifacts, artifactView{a, report.Cut(a.Content, maxText)})
	}
	m.Sequences = sequencesOf(t, r.FormValue("formats") != "", v.url(r, self, "formats", "1")+"#sequences")
	return m, nil
}

// messages adds a page of messages, in the order of the tree.
func (m *trajectoryModel) messages(r *http.Request, v *reading, from int) {
	t, self := &v.t.Trajectory, v.t.Is.Row
	places := placesOf(t)
	tokens := ""
	if m.Tokens {
		tokens = "1"
	}
	page := func(at int) string { return v.url(r, self, "tokens", tokens, "from", zero(at-at%pageMessages)) }
	m.Branches = branchesOf(t, places, func(at int) string { return fmt.Sprintf("%s#m%d", page(at), places[at].message) })
	m.Of, m.From = len(places), min(from-from%pageMessages, len(places))
	end := min(m.From+pageMessages, m.Of)
	if m.From > 0 {
		m.Earlier = page(m.From - pageMessages)
	}
	if end < m.Of {
		m.Later = page(end)
	}
	n := max(1, end-m.From)
	p := &painter{c: v.c, text: min(maxText, max(minText, pageTexts/n)), images: pageImages, plain: m.Plain,
		url: func(i int) string {
			return listed(r, link("d", v.Key, "t", t.TrajectoryID, "message", i), "tokens", tokens, "text", r.FormValue("text"))
		}}
	if m.Tokens {
		sampled := 1
		for _, place := range places[m.From:end] {
			if t.Messages[place.message].Sampled {
				sampled++
			}
		}
		p.tokens = max(minTokens, pageTokens/sampled)
	}
	steps := stepRewards(t)
	if steps == nil {
		m.Steps = t.ShapedRewards
	}
	m.Outline = outlineOf(t, places[m.From:end], steps)
	for at := m.From; at < end; at++ {
		m.Messages = append(m.Messages, p.message(places[at].message, places[at].depth, shownBefore(places, at)))
	}
}

// tracebacks adds what the agent and the rewards said when they failed.
func (m *trajectoryModel) tracebacks(r *http.Request, v *reading) error {
	text, err := v.x.From.Failure(r.Context(), v.t.Error)
	m.Traceback = report.Cut(text, maxText)
	for i := range m.Components {
		if err == nil {
			text, err = v.x.From.Failure(r.Context(), v.t.Rewards[i].Error)
			m.Components[i].Traceback = report.Cut(text, maxText)
		}
	}
	return err
}

func componentsOf(rewards []formats.NamedReward) (out []componentView) {
	for _, c := range rewards {
		v := componentView{Name: name(c.Name), Value: c.Value, Weight: c.Weight, Failure: name(c.Failure + " " + c.Error)}
		if c.Value != nil {
			adds := *c.Value * c.Weight
			v.Adds = &adds
		}
		out = append(out, v)
	}
	return out
}

func candidateOf(t *formats.Trajectory, i int) candidateView {
	x := &t.Candidates[i]
	text := x.Content
	for _, c := range x.ToolCalls {
		text += "\n→ " + c.Name + " " + c.Arguments
	}
	v := candidateView{Number: i, Message: int(x.Message), Text: report.Cut(text, maxText),
		Notes: name(cmp.Or(x.Reason, "scored by the agent"))}
	if x.Score != nil {
		v.Notes += ", score " + orDash(x.Score)
	}
	return v
}

func orDash(v *float64) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatFloat(*v, 'g', 6, 64)
}
