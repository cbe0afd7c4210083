package page

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/pipelines/look/model"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

// Trajectory is a trajectory as pages show it.
type Trajectory struct {
	*model.Conversation
	Row        *formats.Trajectory
	Components []Component
	Error      text.Piece
	Traceback  text.Piece
	Example    text.Piece
	Question   text.Piece
	Reference  text.Piece
	Answer     text.Piece
	Messages   []*Message
	Candidates []Candidate
	Artifacts  []Artifact
	Breaks     []Counted // prefix breaks by cause
}

// Explained reports whether a reward has a failure or a reason, or the total is null.
func (t Trajectory) Explained() bool {
	return t.Row.Reward == nil || slices.ContainsFunc(t.Components, func(c Component) bool { return c.Failure != "" })
}

// Component is a named reward of a trajectory.
type Component struct {
	model.Component            // Failure is the first line of the failure or the reason
	Whole           text.Piece // that of which it is the beginning, if it is not all
	Traceback       text.Piece
}

// Candidate is an alternative to a sampled message.
type Candidate struct {
	model.Candidate
	Text text.Piece
}

// Artifact is a file that the attempt left.
type Artifact struct {
	formats.Artifact
	Text text.Piece
}

// Sizes are how much of a trajectory a page shows.
type Sizes struct {
	Example, Text int // bytes of the example, and of every other text
	Parts         int // rewards, candidates and files
}

// TrajectoryOf returns what a page shows of a trajectory besides its messages.
func TrajectoryOf(c *model.Conversation, sizes Sizes) Trajectory {
	t := c.Trajectory()
	v := Trajectory{Conversation: c, Row: t, Error: text.Cut(t.Error, sizes.Text), Answer: text.Cut(t.Answer, sizes.Text),
		Question: text.Cut(jsontext.Lines(c.Question()), sizes.Text),
		Example:  text.Cut(jsontext.Lines(t.Example), sizes.Example), Reference: text.Cut(jsontext.Lines(c.Reference()), sizes.Text)}
	for _, r := range model.ComponentsOf(t.Rewards[:min(len(t.Rewards), sizes.Parts)]) {
		whole := strings.Trim(r.Failure+": "+cmp.Or(r.Error, r.Reason), ": ")
		r.Name, r.Failure = text.Name(r.Name), text.Name(whole)
		shown := Component{Component: r}
		if r.Failure != whole {
			shown.Whole = text.Cut(whole, sizes.Text)
		}
		v.Components = append(v.Components, shown)
	}
	breaks := map[string]int64{}
	for i := range t.Messages {
		if why := model.BreakWhy(t.Messages[i].PrefixBreak); why != "" {
			breaks[why]++
		}
	}
	v.Breaks = Sorted(breaks)
	candidates := c.Candidates()
	for _, x := range candidates[:min(len(candidates), sizes.Parts)] {
		v.Candidates = append(v.Candidates, Candidate{x, text.Cut(x.Text, sizes.Text)})
	}
	for _, a := range t.Artifacts[:min(len(t.Artifacts), sizes.Parts)] {
		v.Artifacts = append(v.Artifacts, Artifact{a, text.Cut(a.Content, sizes.Text)})
	}
	return v
}
