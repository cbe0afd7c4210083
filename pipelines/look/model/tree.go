package model

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

// Place is where a message is shown.
type Place struct {
	Number int // of the message
	Depth  int // in the tree
	After  int // the message at the same depth that is shown before it, -1 if a branch begins there
}

// Places returns the messages in the order in which they are shown: a path keeps its depth,
// and what branches off it, or has another root, is one deeper. The main path goes
// on after its branches. Messages that a damaged tree does not reach come last.
func Places(t *formats.Trajectory) (out []Place) {
	main := t.Main()
	children := make(map[int][]int, len(t.Messages))
	for i := range t.Messages {
		parent := int(t.Messages[i].Parent)
		children[parent] = append(children[parent], i)
	}
	seen := make([]bool, len(t.Messages))
	var path func(at, depth int)
	path = func(at, depth int) {
		for at >= 0 && !seen[at] {
			seen[at] = true
			out = append(out, Place{at, depth, before(out, depth)})
			next := continuation(children[at], main)
			for _, child := range children[at] {
				if child != next {
					path(child, depth+1)
				}
			}
			at = next
		}
	}
	first := continuation(children[-1], main)
	for _, root := range children[-1] {
		depth := 1
		if root == first {
			depth = 0
		}
		path(root, depth)
	}
	for i := range t.Messages {
		path(i, 1)
	}
	return out
}

// continuation returns the message with which a path goes on: the one on the main
// path, else the first; -1 for none.
func continuation(children, main []int) int {
	for _, child := range children {
		if _, on := slices.BinarySearch(main, child); on {
			return child
		}
	}
	if len(children) == 0 {
		return -1
	}
	return children[0]
}

// before returns the last message at a depth, -1 if what follows begins a branch there.
func before(places []Place, depth int) int {
	for _, p := range slices.Backward(places) {
		if p.Depth <= depth {
			if p.Depth == depth {
				return p.Number
			}
			break
		}
	}
	return -1
}

// branchNames are the reasons of branches that rollout records.
var branchNames = map[string]string{
	"choice":   "another choice of the same call",
	"parallel": "a parallel call",
	"retry":    "the agent asked again",
}

// BranchOf returns why a message does not follow the one before it, "" if it does.
func BranchOf(t *formats.Trajectory, at Place) string {
	i, m := at.Number, &t.Messages[at.Number]
	switch {
	case m.Branch != "":
		why := cmp.Or(branchNames[m.Branch], text.Name(m.Branch))
		if m.Parent < 0 {
			return why + ", from its own beginning"
		}
		return fmt.Sprintf("branch after message %d: %s", m.Parent, why)
	case m.Parent < 0 && i > 0:
		return "a conversation of its own" + ofFunction(t, i)
	case int(m.Parent) == at.After:
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
			return ": sub-agent " + text.Name(t.Calls[m.Call].Function)
		}
	}
	return ""
}
