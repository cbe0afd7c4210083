// Package report looks at a run's epochs and tells how training goes: a table,
// a plot, and the history files that the harness's users know. It only reads
// datasets and writes files of its own; nothing reads them back.
//
//	training_metrics.jsonl   a line an epoch
//	reward_history.json      mean, least and greatest reward an epoch
//	validation_history.json  the same for held-out examples
//	curriculum_state.json    the curriculum after the last epoch
//	reward_plot.png          training and validation reward, curriculum share
//
// Rewards are means over scored trajectories: one without a reward is not
// counted as 0. To add a figure to the report, add a field to Epoch, fill it
// in collect.go, and show it in table.go or files.go.
package report

import (
	"context"
	"fmt"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/storage"
)

// Options name the run to look at.
type Options struct {
	Root string // URI of the run: the folder of epoch-0, epoch-1, ...
	Out  string // where to put the files; "" for Root
	// NoFiles only collects.
	NoFiles bool
	// Known are the run's first epochs, from an earlier report; they are not read
	// again.
	Known []Epoch
}

// Run is what the report knows of a run.
type Run struct {
	Root   string   `json:"root"`
	Epochs []Epoch  `json:"epochs"`
	Files  []string `json:"files,omitempty"` // URIs written
	Advice []string `json:"advice,omitempty"`
}

// Epoch is one epoch. What a stage has not written yet is nil.
type Epoch struct {
	Epoch      int                `json:"epoch"`
	Time       time.Time          `json:"timestamp"`
	RunID      string             `json:"run_id"`
	Train      *Sample            `json:"train,omitempty"`
	Kept       *Sample            `json:"kept,omitempty"`
	Validation *Sample            `json:"validation,omitempty"`
	Flat       int64              `json:"flat_groups"`
	Drops      map[string]int64   `json:"drops,omitempty"`
	Curriculum *Curriculum        `json:"curriculum,omitempty"`
	Receipt    *formats.Receipt   `json:"receipt,omitempty"`
	Seconds    map[string]float64 `json:"seconds,omitempty"` // by stage
}

// Sample sums up trajectories. Mean, Min and Max are over the scored ones,
// null when there are none.
type Sample struct {
	Trajectories int64              `json:"trajectories"`
	Groups       int64              `json:"groups"`
	Examples     int64              `json:"examples"`
	Scored       int64              `json:"scored"`
	Failed       int64              `json:"failed"`
	Mean         *float64           `json:"mean"`
	Min          *float64           `json:"min"`
	Max          *float64           `json:"max"`
	Rewards      map[string]float64 `json:"rewards,omitempty"` // mean of each named reward
}

// Make collects a run and writes its files.
func Make(ctx context.Context, o Options) (Run, error) {
	run, err := collect(ctx, o.Root, o.Known)
	if err != nil {
		return run, err
	}
	run.Advice = advice(run.Epochs)
	if o.NoFiles {
		return run, nil
	}
	out := o.Out
	if out == "" {
		out = o.Root
	}
	bucket, err := storage.Open(ctx, out)
	if err != nil {
		return run, err
	}
	files, err := render(run)
	if err != nil {
		return run, fmt.Errorf("report %q: %w", o.Root, err)
	}
	for _, f := range files {
		if err := bucket.Write(ctx, f.name, f.data); err != nil {
			return run, err
		}
		run.Files = append(run.Files, storage.Join(out, f.name))
	}
	return run, nil
}
