package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/pipelines/inspect"
)

// branch is a run of messages that are shown together, each after the one before it.
type branch struct {
	Depth    int
	Messages string // ranges
	Why      string
	Of       int // messages
	Trained  int // of these
	URL      string
}

// node is a message and its depth in the tree.
type node struct{ message, depth int }

// placesOf returns the messages in the order in which they are shown.
func placesOf(t *formats.Trajectory) (out []node) {
	inspect.Walk(t, func(i, depth int) { out = append(out, node{i, depth}) })
	return out
}

// shownBefore returns the message at the same depth that is shown before the one at a
// place, -1 if a branch begins there.
func shownBefore(places []node, at int) int {
	for i := at - 1; i >= 0 && places[i].depth >= places[at].depth; i-- {
		if places[i].depth == places[at].depth {
			return places[i].message
		}
	}
	return -1
}

// branchesOf returns the branches of a tree, in the order of its messages; url
// returns the link to the message at a place.
func branchesOf(t *formats.Trajectory, places []node, url func(at int) string) (out []branch) {
	for at := 0; at < len(places); {
		b := branch{Depth: places[at].depth, Why: branchOf(t, places[at].message, -1), URL: url(at)}
		switch p := t.Messages[places[at].message].Parent; {
		case at == 0:
			b.Why = "main path"
		case b.Why == "":
			b.Why = fmt.Sprintf("after message %d", p)
		}
		var list []int
		for first := at; at < len(places) &&
			(at == first || places[at].depth == b.Depth &&
				int(t.Messages[places[at].message].Parent) == places[at-1].message); at++ {
			list = append(list, places[at].message)
			if t.Trained(places[at].message) {
				b.Trained++
			}
		}
		b.Messages, b.Of = ranges(list), len(list)
		out = append(out, b)
	}
	return out
}

// branchNames are the reasons of branches that rollout records.
var branchNames = map[string]string{
	"choice":   "another choice of the same call",
	"parallel": "a parallel call",
	"retry":    "the agent asked again",
}

// branchOf returns why a message does not follow the one before it, "" if it does.
func branchOf(t *formats.Trajectory, i, before int) string {
	m := &t.Messages[i]
	switch {
	case m.Branch != "":
		why, known := branchNames[m.Branch]
		if !known {
			why = name(m.Branch)
		}
		return fmt.Sprintf("branch after message %d: %s", m.Parent, why)
	case m.Parent < 0 && i > 0:
		return "a conversation of its own" + ofFunction(t, i)
	case int(m.Parent) == before:
		return ""
	}
	return fmt.Sprintf("goes on from message %d", m.Parent)
}

// ofFunction names the agent that a conversation belongs to, if a call below says it.
func ofFunction(t *formats.Trajectory, root int) string {
	below := map[int32]bool{int32(root): true}
	for i := root; i < len(t.Messages); i++ {
		m := &t.Messages[i]
		if i != root && !below[m.Parent] {
			continue
		}
		below[int32(i)] = true
		if m.Call >= 0 && int(m.Call) < len(t.Calls) && t.Calls[m.Call].Function != "" {
			return ": sub-agent " + name(t.Calls[m.Call].Function)
		}
	}
	return ""
}

// pageOf returns where the page of a trajectory begins that has a message.
func pageOf(t *formats.Trajectory, message int) int {
	at := slices.IndexFunc(placesOf(t), func(p node) bool { return p.message == message })
	return at - at%pageMessages
}

// ranges returns ascending numbers as ranges.
func ranges(list []int) string {
	var out []string
	for i := 0; i < len(list); {
		last := i
		for last+1 < len(list) && list[last+1] == list[last]+1 {
			last++
		}
		if last > i {
			out = append(out, fmt.Sprintf("%d–%d", list[i], list[last]))
		} else {
			out = append(out, fmt.Sprint(list[i]))
		}
		i = last + 1
	}
	return strings.Join(out, ", ")
}
