package curate

import (
	"cmp"
	"context"
	"regexp"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// Where --plan-forks forks trajectories. A point is a call that trains and is not the
// trajectory's first: that call and those after it are sampled again.
const (
	ForkEven       = "even"       // evenly over the answers of the main path (VinePPO, arXiv 2410.01679)
	ForkDifference = "difference" // after the first answer that no other attempt of the group has
	ForkEntropy    = "entropy"    // the answers whose tokens have the greatest mean of -logprob
	ForkTool       = "tool"       // the answers that called a tool whose result is an error (failedTool)
	ForkCompaction = "compaction" // the answers after a compaction
)

// failedTool finds results of tools that report an error: by their beginning, or an exit code.
var failedTool = regexp.MustCompile(`(?i)^\W*(error|exception|traceback|failed|failure|fatal)\b|\bexit(ed with)?( code| status)?:? [1-9]`)

// turn is an answer of a trajectory, with its call.
type forkable struct {
	message int
	call    int32
}

// forkable returns the answers among messages at which a trajectory can be forked: a call before theirs was answered, and
// each that was has one answer, which rollout can repeat.
func forkables(t *formats.Trajectory, messages []int) (out []forkable) {
	first, last := repeatable(t)
	for _, i := range messages {
		if call := int(t.Messages[i].Call); t.Trained(i) && first >= 0 && call > first && call <= last {
			out = append(out, forkable{i, t.Messages[i].Call})
		}
	}
	return out
}

// repeatable returns the first call that was answered, -1 for none, and the first with several answers or none that is kept.
func repeatable(t *formats.Trajectory) (first, last int) {
	answers := map[int32]int{}
	for i := range t.Messages {
		if m := &t.Messages[i]; m.Sampled {
			answers[m.Call]++
		}
	}
	for i := range t.Candidates {
		switch c := &t.Candidates[i]; {
		case c.Reason == "": // no answer of a call
		case c.Call != nil:
			answers[*c.Call]++
		case c.Message >= 0 && int(c.Message) < len(t.Messages):
			answers[t.Messages[c.Message].Call]++
		}
	}
	first = -1
	for k := range t.Calls {
		switch {
		case t.Calls[k].Error != "":
		case answers[int32(k)] != 1:
			return first, k
		case first < 0:
			first = k
		}
	}
	return first, len(t.Calls)
}

// forkPoints returns up to n calls of a group's trajectory at which it is forked.
func forkPoints(where string, group []formats.Trajectory, at, n int) (calls []int32) {
	t := &group[at]
	main := t.Main()
	turns := forkables(t, main)
	switch where {
	case ForkEven:
		for k := range n {
			if i := (k+1)*(len(turns)+1)/(n+1) - 1; i >= 0 && i < len(turns) {
				calls = append(calls, turns[i].call)
			}
		}
		return slices.Compact(calls)
	case ForkDifference:
		unique := firstUnique(group, at, main)
		turns = slices.DeleteFunc(turns, func(x forkable) bool { return slices.Index(main, x.message) <= unique })
	case ForkEntropy:
		slices.SortStableFunc(turns, func(a, b forkable) int { return cmp.Compare(surprise(t, b.message), surprise(t, a.message)) })
	case ForkTool:
		turns = slices.DeleteFunc(turns, func(x forkable) bool {
			return !slices.ContainsFunc(t.Messages, func(m formats.Message) bool {
				return m.Role == "tool" && askedBy(t, &m) == x.message && failedTool.MatchString(chat.ContentText(&m))
			})
		})
	case ForkCompaction:
		all := make([]int, len(t.Messages))
		for i := range all {
			all[i] = i
		}
		turns = slices.DeleteFunc(forkables(t, all), func(x forkable) bool { return !compacted(t, x.message) })
	}
	for _, x := range turns[:min(n, len(turns))] {
		calls = append(calls, x.call)
	}
	slices.Sort(calls)
	return slices.Compact(calls)
}

// firstUnique returns the place in a main path of the first message that no other attempt shares.
func firstUnique(group []formats.Trajectory, at int, main []int) (place int) {
	for i := range group {
		if i != at {
			place = max(place, chat.Shared(&group[at], &group[i], main, group[i].Main()))
		}
	}
	return place
}

// surprise is the mean of -logprob of a message's tokens; 0 without any.
func surprise(t *formats.Trajectory, message int) (sum float64) {
	list := t.Messages[message].Logprobs
	for _, p := range list {
		sum -= float64(p) / float64(len(list))
	}
	return sum
}

// askedBy returns the answer that a message of a tool, or of several in a row, follows; -1 if none.
func askedBy(t *formats.Trajectory, m *formats.Message) int {
	at := int(m.Parent)
	for at >= 0 && t.Messages[at].Role == "tool" {
		at = int(t.Messages[at].Parent)
	}
	return at
}

// compacted reports whether what was said since the answer before was compacted.
func compacted(t *formats.Trajectory, message int) bool {
	for at := int(t.Messages[message].Parent); at >= 0 && !t.Messages[at].Sampled; at = int(t.Messages[at].Parent) {
		if t.Messages[at].Branch == "compaction" {
			return true
		}
	}
	return false
}

// nextGeneration returns a number after those of all generations of the base.
func (s *set) nextGeneration(ctx context.Context) (next int32, err error) {
	type columns struct {
		Generation int32 `parquet:"generation,delta"`
	}
	for c, err := range dataset.Each[columns](ctx, s.base, "", s.base.All()) {
		if err != nil {
			return 0, err
		}
		next = max(next, c.Generation+1)
	}
	return next, nil
}

// requestForks adds requests for forks of the trajectories of groups that may be worth training on.
func (o *Options) requestForks(ctx context.Context, in *input, p *plan, size int, all *requestList) error {
	s := in.sets[0]
	if s.scattered {
		return Usage("write the rows of a group next to each other, as rollout does",
			"curate: --plan-forks: the rows of a group are not adjacent")
	}
	next, err := s.nextGeneration(ctx)
	if err != nil {
		return err
	}
	rows := &baseRows{ctx: ctx, base: s.base, end: s.base.Rows}
	defer rows.close()
	for j, err := range p.verdicts(0, s.end) {
		if err != nil {
			return err
		}
		if j.Fork || j.Epoch != in.epoch || !p.plannable(j.Verdict) {
			continue
		}
		group := make([]formats.Trajectory, j.Count)
		if err := rows.read(j.FirstRow, group); err != nil {
			return err
		}
		rows.done = j.FirstRow + int64(j.Count)
		for i := range group {
			if err := o.requestForksOf(j.Group, group, i, size, next, all); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *Options) requestForksOf(g *Group, group []formats.Trajectory, at, size int, next int32, all *requestList) error {
	t := &group[at]
	if t.Status == outcomes.StatusFailed || t.Status == outcomes.StatusSkipped {
		return nil
	}
	for _, call := range forkPoints(o.PlanTable.Forks, group, at, cmp.Or(o.PlanTable.ForkPoints, 1)) {
		w := request{Group: g.Index, Row: g.FirstRow, N: size, Reason: requestFork, From: t.TrajectoryID, Call: call, First: next}
		w.Lot = formats.Seed(o.Seed, "fork", t.TrajectoryID)
		if err := all.add(&w); err != nil {
			return err
		}
	}
	return nil
}
