package serve

import (
	"fmt"
	"net/http"

	"github.com/rollmill/rollmill/pipelines/look/model"
	"github.com/rollmill/rollmill/pipelines/look/page"
	"github.com/rollmill/rollmill/pipelines/look/text"
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
	maxParts     = 100     // rewards, candidates and files
	imageBytes   = 2 << 20 // of one image's URL
	pageImages   = 6 << 20 // of all on a page
)

type trajectoryModel struct {
	Frame
	page.Trajectory
	Links     []Crumb   // to other pages
	Steps     []float64 // shaped rewards, if they are not those of the messages
	Branches  []page.Branch
	Outline   []page.OutlineItem // of these messages
	From      int                // of the messages
	Earlier   string
	Later     string
	Sequences *page.Sequences
	Tokens    bool
	TokensURL string // the other view of the tokens
	Plain     bool   // Markdown is shown as it is
	PlainURL  string // the other view of Markdown
	Problems  []string
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
	m := &trajectoryModel{Frame: Frame{Title: fmt.Sprintf("%s, epoch %d, generation %d", text.Name(t.ExampleID), t.Epoch, t.Generation),
		Trail: append(s.trailOf(v.Entry), Crumb{"group " + t.Group(), page.Link("d", v.Key, "g", v.t.Is.Group)})},
		Trajectory: page.TrajectoryOf(v.c, page.Sizes{Example: exampleBytes, Text: maxText, Parts: maxParts}), Links: v.links(r, s),
		Tokens: r.FormValue("tokens") != "", Plain: r.FormValue("text") == plainText, Problems: v.x.From.Problems}
	url := func(row uint32) string { return v.url(r, row) }
	if err := m.setAdjacent(r, self, url, v.x.Trajectories()); err != nil {
		return nil, err
	}
	m.TokensURL = v.url(r, self, "tokens", "1")
	if m.Tokens {
		m.TokensURL = v.url(r, self)
	}
	m.PlainURL = otherText(r, page.Link("d", v.Key, "t", t.TrajectoryID), "tokens", r.FormValue("tokens"), "from", from)
	if err := m.tracebacks(r, v); err != nil {
		return nil, err
	}
	m.messages(r, v, from)
	m.Sequences = page.SequencesOf(t, r.FormValue("formats") != "", v.url(r, self, "formats", "1")+"#sequences")
	return m, nil
}

// messages adds a page of messages, in the order of the tree.
func (m *trajectoryModel) messages(r *http.Request, v *reading, from int) {
	t, self := &v.t.Trajectory, v.t.Is.Row
	places := model.Places(t)
	tokens := r.FormValue("tokens")
	url := func(at int) string { return v.url(r, self, "tokens", tokens, "from", at-at%pageMessages) }
	m.Branches = page.BranchesOf(t, places, func(at int) string { return fmt.Sprintf("%s#m%d", url(at), places[at].Number) })
	m.From = min(from-from%pageMessages, len(places))
	end := min(m.From+pageMessages, len(places))
	if m.From > 0 {
		m.Earlier = url(m.From - pageMessages)
	}
	if end < len(places) {
		m.Later = url(end)
	}
	n := max(1, end-m.From)
	p := &page.Painter{Conversation: v.c, Text: min(maxText, max(minText, pageTexts/n)), Image: imageBytes, Images: pageImages, Plain: m.Plain,
		URL: func(i int) string {
			return listed(r, page.Link("d", v.Key, "t", t.TrajectoryID, "message", i), "tokens", tokens, "text", r.FormValue("text"))
		}}
	if m.Tokens {
		sampled := 1
		for _, place := range places[m.From:end] {
			if t.Messages[place.Number].Sampled {
				sampled++
			}
		}
		p.Tokens = max(minTokens, pageTokens/sampled)
	}
	steps := page.StepRewards(t)
	if steps == nil {
		m.Steps = t.ShapedRewards
	}
	m.Outline = page.OutlineOf(t, places[m.From:end], steps)
	for _, at := range places[m.From:end] {
		m.Messages = append(m.Messages, p.Message(at))
	}
}

// tracebacks adds what the agent and the rewards said when they failed.
func (m *trajectoryModel) tracebacks(r *http.Request, v *reading) error {
	said, err := v.x.From.Failure(r.Context(), v.t.Error)
	m.Traceback = text.Cut(said, maxText)
	for i := range m.Components {
		if err == nil {
			said, err = v.x.From.Failure(r.Context(), v.t.Rewards[i].Error)
			m.Components[i].Traceback = text.Cut(said, maxText)
		}
	}
	return err
}
