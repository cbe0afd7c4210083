package page

import (
	"cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/pipelines/look/model"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

// Trajectory is a trajectory as pages show it.
type Trajectory struct {
	Facts      []model.Fact
	Trains     model.Fate
	Reward     *float64
	NoReward   string // why it is null
	Components []Component
	Error      text.Piece
	Traceback  text.Piece
	Example    text.Piece
	Reference  text.Piece
	Answer     text.Piece
	Messages   []*Message
	Of         int // messages
	Candidates []Candidate
	Artifacts  []Artifact
}

// Component is a named reward of a trajectory.
type Component struct {
	Name      string
	Value     *float64
	Weight    float64
	Adds      *float64 // to the reward, if it is the weighted sum
	Failure   string
	Traceback text.Piece
}

// Candidate is an alternative to a sampled message.
type Candidate struct {
	Number  int
	Notes   string
	Message int
	Text    text.Piece
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
	v := Trajectory{Facts: c.Facts(), Trains: c.Fate(), Reward: t.Reward, NoReward: text.Name(c.NoReward), Of: len(t.Messages),
		Error: text.Cut(t.Error, sizes.Text), Answer: text.Cut(t.Answer, sizes.Text),
		Example:   text.Cut(jsontext.Lines(t.Example), sizes.Example),
		Reference: text.Cut(jsontext.Lines(c.Reference()), sizes.Text)}
	for _, r := range t.Rewards[:min(len(t.Rewards), sizes.Parts)] {
		x := Component{Name: text.Name(r.Name), Value: r.Value, Weight: r.Weight, Failure: text.Name(r.Failure + " " + r.Error)}
		if r.Value != nil {
			x.Adds = new(*r.Value * r.Weight)
		}
		v.Components = append(v.Components, x)
	}
	for i, x := range t.Candidates[:min(len(t.Candidates), sizes.Parts)] {
		whole := x.Content
		for _, call := range x.ToolCalls {
			whole += "\n→ " + call.Name + " " + call.Arguments
		}
		notes := text.Name(cmp.Or(x.Reason, "scored by the agent"))
		if x.Score != nil {
			notes += ", score " + Figure(*x.Score)
		}
		v.Candidates = append(v.Candidates, Candidate{Number: i, Message: int(x.Message), Text: text.Cut(whole, sizes.Text), Notes: notes})
	}
	for _, a := range t.Artifacts[:min(len(t.Artifacts), sizes.Parts)] {
		v.Artifacts = append(v.Artifacts, Artifact{a, text.Cut(a.Content, sizes.Text)})
	}
	return v
}
