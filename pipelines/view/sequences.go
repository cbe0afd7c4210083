package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/exporters"
	"github.com/rollmill/rollmill/formats/exporters/all"
	"github.com/rollmill/rollmill/formats/exporters/art"
)

// sequencesView says which sequences a trainer would see, and what the exporters make
// of the trajectory alone.
type sequencesView struct {
	List     []sequenceView
	Problems []art.Problem // why ART does not take it
	Outcomes []outcome     // nil: not asked
	URL      string        // that asks
}

// sequenceView is a path through the tree that trains something no sequence before it
// does.
type sequenceView struct {
	Number   int
	Messages string // ranges of the path
	Trained  []int
	Tokens   int
	Share    float64 // of all trained tokens, in percent
	Breaks   []string
}

// outcome is what a format makes of the trajectory.
type outcome struct {
	Name, Help string
	Rows       int64
	Bytes      int64
	Skipped    string // why it gives no row
	Lost       string // what the form cannot hold
}

// sequencesOf splits a trajectory as the exporters of package art do: the main path,
// then each branch that trains something of its own.
func sequencesOf(t *formats.Trajectory, outcomes bool, url string) *sequencesView {
	v := &sequencesView{URL: url}
	done := make([]bool, len(t.Messages))
	total := 0
	for n, s := range art.Sequences(t, func(string, string, ...any) {}) {
		q := sequenceView{Number: n, Messages: ranges(s.Path)}
		for _, i := range s.Path {
			m := &t.Messages[i]
			if !t.Trained(i) || done[i] {
				continue
			}
			done[i] = true
			q.Trained = append(q.Trained, i)
			q.Tokens += len(m.TokenIDs)
			if m.PrefixBreak != "" && len(q.Trained) > 1 {
				q.Breaks = append(q.Breaks, fmt.Sprintf("before message %d, %s", i, breakWhy(m.PrefixBreak)))
			}
		}
		total += q.Tokens
		v.List = append(v.List, q)
	}
	for i := range v.List {
		v.List[i].Share = 100 * float64(v.List[i].Tokens) / float64(max(1, total))
	}
	art.Check([]formats.Trajectory{*t}, art.Limits{}, func(p art.Problem) {
		if p.TrajectoryID != "" { // not that it is without its group
			v.Problems = append(v.Problems, p)
		}
	})
	if outcomes {
		v.Outcomes = outcomesOf(t)
	}
	return v
}

// outcomesOf writes the trajectory in each format that takes it without others.
func outcomesOf(t *formats.Trajectory) (out []outcome) {
	for _, f := range all.Formats {
		alone := f.Of == exporters.Groups || f.Of == exporters.Rows || f.Of == exporters.Top
		if f.Lines == nil || f.Whole || !alone {
			continue
		}
		o := outcome{Name: f.Name, Help: f.Help}
		var skipped, lost []string
		sink := f.Lines(io.Discard)
		err := sink.Give(&exporters.Item{Rows: []formats.Trajectory{*t},
			Skip: func(reason string) { skipped = append(skipped, reason) }, Drop: func(part string) { lost = append(lost, part) }})
		if err != nil {
			skipped = append(skipped, err.Error())
		}
		if f.Omits != "" {
			lost = append(lost, f.Omits)
		}
		o.Rows, o.Bytes, o.Skipped, o.Lost = sink.Rows(), sink.Size(), name(strings.Join(skipped, ", ")), name(strings.Join(lost, ", "))
		out = append(out, o)
	}
	return out
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
