package page

import (
	"fmt"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/pipelines/look/model"
)

// Branch is a run of messages that are shown together, each after the one before it.
type Branch struct {
	Depth    int
	Messages string // ranges
	Why      string
	Of       int // messages
	Trained  int // of these
	URL      string
}

// BranchesOf returns the branches of a tree, in the order of its messages; url
// returns the link to the message at a place.
func BranchesOf(t *formats.Trajectory, places []model.Place, url func(at int) string) (out []Branch) {
	for at := 0; at < len(places); {
		b := Branch{Depth: places[at].Depth, Why: model.BranchOf(t, places[at].Message, -1), URL: url(at)}
		switch p := t.Messages[places[at].Message].Parent; {
		case at == 0:
			b.Why = "main path"
		case b.Why == "":
			b.Why = fmt.Sprintf("after message %d", p)
		}
		var list []int
		for first := at; at < len(places) &&
			(at == first || places[at].Depth == b.Depth &&
				int(t.Messages[places[at].Message].Parent) == places[at-1].Message); at++ {
			list = append(list, places[at].Message)
			if t.Trained(places[at].Message) {
				b.Trained++
			}
		}
		b.Messages, b.Of = plural.Numbers(list), len(list)
		out = append(out, b)
	}
	return out
}
