package report

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/pipelines/look/model"
	"github.com/rollmill/rollmill/pipelines/look/page"
)

// maxTrajectories is how many trajectories the page shows.
const maxTrajectories = 200

// pick is a trajectory that the page may show.
type pick struct {
	hash uint64
	row  int64
	id   string
}

// stratum is a rollout from which trajectories are sampled: that of training or of
// validation, of one epoch.
type stratum struct {
	Epoch      int
	Validation bool

	d      *dataset.Dataset
	thin   *dataset.Dataset // its groups, else its scores; nil for neither
	wanted map[string]bool  // ids to show in any case
	must   int              // of these that are in picks, the first ones
	picks  []pick           // those with the lowest hashes, sorted
}

// Add offers a row. Which rows are sampled depends on the run and on their ids alone,
// not on their order.
func (s *stratum) Add(seed uint64, row int64, id string) {
	p := pick{xxh3.HashStringSeed(id, seed), row, id}
	if s.wanted[id] { // before all others
		p.hash = 0
		s.must++
	}
	if len(s.picks) == maxTrajectories && p.hash >= s.picks[len(s.picks)-1].hash {
		return
	}
	p.id = string([]byte(id))
	at, _ := slices.BinarySearchFunc(s.picks, p, func(a, b pick) int { return cmp.Compare(a.hash, b.hash) })
	s.picks = slices.Insert(s.picks, at, p)
	s.picks = s.picks[:min(len(s.picks), maxTrajectories)]
}

// seedOf returns the seed of a run's sample.
func seedOf(run history.Run) uint64 {
	id := ""
	for _, e := range run.Epochs {
		id = cmp.Or(id, e.RunID)
	}
	sum := xxh3.HashString128(id).Bytes()
	return binary.BigEndian.Uint64(sum[:8])
}

// choose keeps those that must be shown, and takes the others in turns from every
// stratum, the last epochs first.
func choose(strata []*stratum, limit int) {
	left, taken := limit, make([]int, len(strata))
	for i, s := range strata {
		left, taken[i] = left-s.must, s.must
	}
	for more := true; left > 0 && more; {
		more = false
		for i := len(strata) - 1; i >= 0 && left > 0; i-- {
			if taken[i] < len(strata[i].picks) {
				taken[i]++
				left--
				more = true
			}
		}
	}
	for i, s := range strata {
		s.picks = s.picks[:taken[i]]
		slices.SortFunc(s.picks, func(a, b pick) int { return cmp.Compare(a.row, b.row) })
	}
}

// read calls f with each chosen row, in order, with its rewards and what followed from them.
func (s *stratum) read(ctx context.Context, f func(*model.Conversation)) error {
	rows, ids := make([]int64, len(s.picks)), make([]string, len(s.picks))
	for i, p := range s.picks {
		rows[i], ids[i] = p.row, p.id
	}
	return model.EachConversation(ctx, cmp.Or(s.thin, s.d), rows, ids, f)
}

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
