package art

import (
	"github.com/rollmill/rollmill/formats"
)

// Sequence is one history: a path through a trajectory's tree, and the first
// message on it that no earlier sequence trains.
type Sequence struct {
	Path  []int
	Tools int32 // index into tool_sets; -1 for none
	last  int   // index in Path of the last trained message; ART cuts the messages after it
}

// Sequences splits a trajectory into the histories to train: the main path,
// then each branch that trains something of its own. Each message that trains
// must do so in exactly one history. ART trains every assistant message before
// the last choice of a history, so a branch that shares a sampled turn cannot
// be sent and is reported as a problem.
func Sequences(t *formats.Trajectory, problem func(reason, detail string, args ...any)) []Sequence {
	done := make([]bool, len(t.Messages))
	var out []Sequence
	add := func(path []int) {
		s := Sequence{Path: path, Tools: -1, last: -1}
		fresh, shared := 0, -1
		for at, i := range path {
			if !t.Trained(i) {
				continue
			}
			if done[i] {
				shared = i
				continue
			}
			s.tools(t, i, fresh == 0, problem)
			fresh++
			s.last = at
			done[i] = true
		}
		if fresh == 0 {
			return
		}
		if shared >= 0 {
			problem(SharedTurn, "message %d is on more than one branch", shared)
		}
		out = append(out, s)
	}
	main := t.Main()
	add(main)
	for _, leaf := range t.Leaves() {
		if len(main) == 0 || leaf != main[len(main)-1] {
			add(t.Path(leaf))
		}
	}
	return out
}

// tools records the tool set of a trained message's call: a history has only
// one.
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
