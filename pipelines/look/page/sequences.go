package page

import (
	"bytes"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign"
	"github.com/rollmill/rollmill/formats/foreign/art"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/sequences"
	"github.com/rollmill/rollmill/pipelines/look/model"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

// Sequences says which sequences of tokens a trajectory gives, and what the
// exporters make of it alone.
type Sequences struct {
	List     []Sequence
	Problem  *sequences.Problem // why there are none
	Problems []art.Problem      // why ART does not take it
	Outcomes []Outcome          // nil: not asked
	URL      string             // that asks
}

// Sequence is one sequence.
type Sequence struct {
	sequences.Sequence
	Why   string  // it is apart from the one before; "" for the first
	Share float64 // of all tokens that train, in percent
}

// Outcome is what a format makes of the trajectory.
type Outcome struct {
	Name, Help string
	Rows       int64
	Bytes      int64
	Skipped    string // why it gives no row
	Lost       string // what the form cannot hold
}

// SequencesOf splits a trajectory into the sequences that package sequences defines.
func SequencesOf(t *formats.Trajectory, outcomes bool, url string) *Sequences {
	v := &Sequences{URL: url}
	list, problem := sequences.Of(t)
	v.Problem = problem
	all := sequences.Tokens(list)
	for _, s := range list {
		v.List = append(v.List, Sequence{s, model.BreakWhy(s.Cause), 100 * float64(s.Tokens) / float64(all)})
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
func outcomesOf(t *formats.Trajectory) (out []Outcome) {
	for _, f := range foreign.Exporters {
		alone := f.Of == exporters.Groups || f.Of == exporters.Rows || f.Of == exporters.Top
		if f.Lines == nil || f.Whole || !alone {
			continue
		}
		o := Outcome{Name: f.Name, Help: f.Help}
		var skipped, lost []string
		var file bytes.Buffer
		sink := f.Lines(&file)
		err := sink.Give(&exporters.Item{Rows: []formats.Trajectory{*t},
			Skip: func(reason string) { skipped = append(skipped, reason) }, Drop: func(part string) {
				lost = append(lost, part)
			}})
		if err != nil {
			skipped = append(skipped, err.Error())
		}
		if f.Omits != "" {
			lost = append(lost, f.Omits)
		}
		o.Rows, o.Bytes = sink.Rows(), int64(file.Len())
		o.Skipped, o.Lost = text.Name(strings.Join(skipped, ", ")), text.Name(strings.Join(lost, ", "))
		out = append(out, o)
	}
	return out
}
