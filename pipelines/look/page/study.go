package page

import (
	"slices"

	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/pipelines/look/model"
)

// Study is what was found in the rows of a run.
type Study struct {
	Groups       GroupLists // of the last epoch that was grouped
	Epoch        int
	Findings     []Finding
	FindingsLeft int
	Trajectories []*Sampled
	Of           int64 // trajectories of the run
}

// GroupLists are lists of groups with their links.
type GroupLists struct {
	Lists   []*history.GroupList
	Key     string            // of the dataset whose pages the groups have, "" for none
	Anchors map[string]string // of members on this page, by id
}

// URL returns the page of a group, "" for none.
func (l GroupLists) URL(g *history.ShownGroup) string {
	if l.Key == "" {
		return ""
	}
	return Link("d", l.Key, "g", g.GroupID)
}

// Finding is a finding of a check, with the dataset that it is about.
type Finding struct {
	validate.Finding
	Place string
}

// Sampled is one trajectory of several on a page.
type Sampled struct {
	Trajectory
	Anchor       string
	Epoch        int
	Validation   bool
	LeftOut      int // messages
	leftOutAfter int // the index of the message after which these were
}

// Outline returns the outline of the messages that are shown.
func (v *Sampled) Outline() []OutlineItem {
	var shown []model.Place
	for _, m := range v.Messages {
		shown = append(shown, m.Place)
	}
	out := OutlineOf(v.Row, shown, StepRewards(v.Row))
	for i := range out {
		out[i].Anchor = v.Anchor + "-"
	}
	return out
}

// LeftOutBefore reports whether messages were left out before the i-th that is shown.
func (v *Sampled) LeftOutBefore(i int) bool { return v.LeftOut > 0 && i == v.leftOutAfter }

// caps are the sizes below which messages are cut, one after the other, until a trajectory
// fits into its share of the page.
var caps = []int{6000, 3000, 1500, 600, 200, 80}

const (
	maxImage = 64 << 10 // bytes of an image's URL
	maxParts = 30       // rewards of a trajectory
)

// SampledOf returns a trajectory, cut to about so many bytes of the page. Its images are taken
// from the bytes that are left for them.
func SampledOf(c *model.Conversation, budget int, images *int) *Sampled {
	v := &Sampled{Trajectory: TrajectoryOf(c, Sizes{Example: min(2500, budget/8), Text: min(1500, budget/8), Parts: maxParts})}
	places := model.Places(v.Row)
	for i, limit := range caps {
		p := &Painter{Conversation: c, Text: limit, Image: maxImage, Images: *images, Plain: true}
		v.Messages = v.Messages[:0]
		total := 0
		for _, at := range places {
			m := p.Message(at)
			v.Messages, total = append(v.Messages, m), total+m.Cost
			if total > budget && i+1 < len(caps) {
				break
			}
		}
		if total <= budget || i+1 == len(caps) {
			*images = p.Images
			break
		}
	}
	v.dropMiddle(budget)
	return v
}

// dropMiddle leaves out messages between the first and the last ones that fit.
func (v *Sampled) dropMiddle(budget int) {
	total, head, tail := 0, 0, len(v.Messages)
	for front := true; head < tail; front = !front {
		m := v.Messages[head]
		if !front {
			m = v.Messages[tail-1]
		}
		if total += m.Cost; total > budget {
			break
		}
		if front {
			head++
		} else {
			tail--
		}
	}
	v.LeftOut, v.leftOutAfter = tail-head, head
	v.Messages = slices.Delete(v.Messages, head, tail)
}
