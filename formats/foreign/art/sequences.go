package art

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/sequences"
)

// Sequence is one history: a path through a trajectory's tree, and the messages on it that train.
type Sequence struct {
	sequences.History
	Tools int32 // index into tool_sets; -1 for none
	last  int   // index in Path of the last trained message; ART cuts the messages after it
}

// Sequences splits a trajectory into the histories to train. ART trains every
// assistant message before the last choice of a history, so a branch that shares
// a sampled turn cannot be sent and is reported as a problem.
func Sequences(t *formats.Trajectory, problem func(reason, detail string, args ...any)) []Sequence {
	var out []Sequence
	for _, h := range sequences.Histories(t) {
		s := Sequence{History: h, Tools: -1}
		next, shared := 0, -1
		for at, i := range h.Path {
			switch {
			case next < len(h.Trains) && i == h.Trains[next]:
				s.tools(t, i, next == 0, problem)
				next, s.last = next+1, at
			case t.Trained(i):
				shared = i
			}
		}
		if shared >= 0 {
			problem(SharedTurn, "message %d is on more than one branch", shared)
		}
		out = append(out, s)
	}
	return out
}

// tools records the tool set of a trained message's call: a history has only one.
func (s *Sequence) tools(t *formats.Trajectory, i int, first bool, problem func(string, string, ...any)) {
	n := t.Calls[t.Messages[i].Call].Tools
	if n >= int32(len(t.ToolSets)) {
		problem(BadTools, "message %d: tool set %d of %d", i, n, len(t.ToolSets))
		n = -1
	}
	if first {
		s.Tools = n
	} else if s.Tools != n {
		problem(ToolsDiffer, "message %d was sampled with other tools than the messages before it", i)
	}
}
