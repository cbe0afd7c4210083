package file

import (
	"io"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/art"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/sequences"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/stages/backends"
)

func (t *Trainer) Use(tables formats.Tables, a validate.Accepted) { t.tables, t.accepted = tables, a }

// pass writes every file in one pass over the batch. It must be closed.
func (t *Trainer) pass(begin func(name string) (io.Writer, error)) *exporters.Pass {
	return exporters.NewPass(t.files, t.cfg.Choice, t.tables, exporters.Place{Begin: begin, Accept: t.accepted})
}

// check counts a group and, for files that must be complete, refuses rows that
// cannot be written.
func (t *Trainer) check(rows []formats.Trajectory, stats *backends.BatchStats, report func(backends.Problem)) {
	if slices.ContainsFunc(t.files, func(f exporters.File) bool { return f.Format.Whole }) {
		sequences, tokens := art.Check(rows, art.Limits{PlainAssistants: t.cfg.AcceptPlainAssistant}, func(p art.Problem) {
			report(backends.Problem(p))
		})
		stats.Groups++
		stats.Trajectories += int64(len(rows))
		stats.Sequences += sequences
		stats.Tokens += tokens
		return
	}
	stats.AddGroup(rows)
	stats.Sequences += int64(len(rows))
}

// weighed returns the weights of the sequences of each file, from what a survey counted.
func (t *Trainer) weighed(files []backends.FileStats) map[string]*sequences.Weights {
	out := map[string]*sequences.Weights{}
	for _, f := range files {
		if t.cfg.RowWeight != "" && f.Sequences != nil {
			out[f.Name] = &sequences.Weights{Per: t.cfg.RowWeight, Totals: f.Sequences.Totals}
		}
	}
	return out
}
