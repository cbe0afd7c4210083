package report

import (
	"slices"

	"github.com/rollmill/rollmill/pipelines/look/model"
	"github.com/rollmill/rollmill/pipelines/look/page"
)

// shownTrajectory is a trajectory as the page shows it.
type shownTrajectory struct {
	page.Trajectory
	Anchor, ID   string
	Example      string // its id
	Generation   int32
	Epoch        int
	Validation   bool
	Status       string
	Failure      string
	Decision     *model.Curated
	LeftOutAfter int // the index of the message after which messages were left out
}

// The sizes below which messages are cut, one after the other, until a trajectory
// fits into its share of the page.
var caps = []int{6000, 3000, 1500, 600, 200, 80}

const (
	maxImage  = 64 << 10 // bytes of an image's URL
	maxImages = 1 << 20  // of all images
	maxParts  = 30       // rewards of a trajectory
)

// trajectoryOf returns a trajectory, cut to about so many bytes of the page.
func trajectoryOf(c *model.Conversation, budget int, images *int) *shownTrajectory {
	t := c.Trajectory()
	v := &shownTrajectory{ID: t.TrajectoryID, Example: t.ExampleID, Generation: t.Generation, Status: t.Status, Failure: t.FailureClass,
		Decision:   c.Decision,
		Trajectory: page.TrajectoryOf(c, page.Sizes{Example: min(2500, budget/8), Text: min(1500, budget/8), Parts: maxParts})}
	places := model.Places(t)
	for i, limit := range caps {
		p := &page.Painter{Conversation: c, Text: limit, Image: maxImage, Images: *images, Plain: true}
		v.Messages = v.Messages[:0]
		total := 0
		for at, place := range places {
			m := p.Message(place.Message, place.Depth, model.Before(places, at))
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
func (v *shownTrajectory) dropMiddle(budget int) {
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
	v.LeftOut, v.LeftOutAfter = tail-head, head
	v.Messages = slices.Delete(v.Messages, head, tail)
}
