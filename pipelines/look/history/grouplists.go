package history

import (
	"cmp"
	"context"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/schema"
)

// GroupList is a list of a few groups.
type GroupList struct {
	Title  string
	Groups []*ShownGroup
	before func(a, b *ShownGroup) int
}

// ShownGroup is a group of a GroupList.
type ShownGroup struct {
	formats.GroupStats
	Members []ShownMember
}

// ShownMember is a member of a ShownGroup.
type ShownMember struct {
	ID                string
	Reward, Advantage *float64
}

const (
	maxGroups  = 8  // in a list
	MaxMembers = 32 // of a group that are shown
)

func NewLists() []*GroupList {
	mean := func(a, b *ShownGroup) int { return cmp.Compare(*a.Mean, *b.Mean) }
	id := func(a, b *ShownGroup) int { return cmp.Compare(a.GroupID, b.GroupID) }
	return []*GroupList{
		{"Best", nil, func(a, b *ShownGroup) int { return cmp.Or(mean(b, a), id(a, b)) }},
		{"Worst", nil, func(a, b *ShownGroup) int { return cmp.Or(mean(a, b), id(a, b)) }},
		{"Most uncertain", nil, func(a, b *ShownGroup) int { return cmp.Or(cmp.Compare(*b.StdPop, *a.StdPop), id(a, b)) }},
	}
}

// Offer adds a group to the lists that it belongs to.
func Offer(lists []*GroupList, g *formats.GroupStats) {
	if g.Mean == nil || g.StdPop == nil {
		return
	}
	for i, l := range lists {
		shown := &ShownGroup{GroupStats: *g}
		if at, _ := slices.BinarySearchFunc(l.Groups, shown, l.before); at < maxGroups && (i < 2 || *g.StdPop > 0) {
			l.Groups = slices.Insert(l.Groups, at, shown)
			l.Groups = l.Groups[:min(len(l.Groups), maxGroups)]
		}
	}
}

// GroupLists returns the best, the worst and the most uncertain groups of a dataset of
// groups, without their members.
func GroupLists(ctx context.Context, d *dataset.Dataset) ([]*GroupList, error) {
	lists := NewLists()
	return lists, Each(ctx, d, schema.TableGroups, func(_ int64, g *formats.GroupStats) { Offer(lists, g) })
}

// Extremes returns the members of the greatest and of the least reward.
func (g *ShownGroup) Extremes() []ShownMember {
	scored := slices.DeleteFunc(slices.Clone(g.Members), func(m ShownMember) bool { return m.Reward == nil })
	if len(scored) == 0 {
		return nil
	}
	by := func(a, b ShownMember) int { return cmp.Compare(*a.Reward, *b.Reward) }
	return []ShownMember{slices.MaxFunc(scored, by), slices.MinFunc(scored, by)}
}
