package recorder

import (
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/tree"
)

// IsAbandoned reports whether a call has no whole answer because the agent did not wait for it.
func IsAbandoned(c *formats.Call) bool {
	return c.Target && (c.Error == errHungUp.Error() || c.Error == errEnded.Error())
}

// abandoned returns why the first call of the target model that the agent did not wait for ended, or nil. A call that
// was made up for does not count, and a stream that the agent left only without Options.AcceptLeftStreams.
func (s *Session) abandoned() *outcome {
	for i := range s.outcomes {
		c := &s.outcomes[i]
		if c.failure == nil || c.failure.Class != outcomes.FailCancelled || c.left && s.recorder.opts.AcceptLeftStreams {
			continue
		}
		if !slices.ContainsFunc(s.outcomes, func(d outcome) bool { return d.failure == nil && s.makesUpFor(&d, c) }) {
			return c
		}
	}
	return nil
}

// text says what happened and what helps.
func (c *outcome) text() string {
	if c.left {
		return c.failure.Text + ": it left the stream (--accept-left-streams keeps such trajectories)"
	}
	return c.failure.Text + ", and no later call of this conversation was answered; raise the time-out of the agent's client, or retry the call in the agent"
}

// makesUpFor reports whether the answered call d makes up for the abandoned call c. It does if it was answered after c
// began and its prompt is that of c or continues it: it is a retry, the winner of a race, or goes on. It also does if
// it was answered after c ended and either has a compacted history or goes on from an answer from before the branch of
// c began: a parent after its sub-agent, or an agent that goes back. Calls of conversations beside that of c do not.
func (s *Session) makesUpFor(d, c *outcome) bool {
	onPath, answer := map[int]bool{-1: true}, -1 // the last answer that d's prompt has
	for at := d.at; at >= 0; at = int(s.tree.Messages[at].Parent) {
		onPath[at] = true
		if answer < 0 && s.tree.Messages[at].Sampled {
			answer = at
		}
	}
	if onPath[c.at] {
		return d.ended > c.began
	}
	from := c.at // where c's branch begins
	for !onPath[int(s.tree.Messages[from].Parent)] {
		from = int(s.tree.Messages[from].Parent)
	}
	common := s.tree.Messages[from].Parent
	compacted := false
	for at := d.at; at >= 0 && at != int(common); at = int(s.tree.Messages[at].Parent) {
		compacted = compacted || s.tree.Messages[at].Branch == tree.BranchCompaction
	}
	return d.ended > c.ended && (compacted || answer >= 0 && answer < from)
}
