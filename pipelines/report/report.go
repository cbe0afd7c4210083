// Package report summarizes the epochs of a run: a table, a plot, and history
// files with the field names of the NeMo Agent Toolkit's finetuning harness. It
// reads datasets and writes only its own files, which nothing reads back.
//
//	training_metrics.jsonl   a line per epoch
//	reward_history.json      mean, minimum and maximum reward of each epoch
//	validation_history.json  the same for held-out examples
//	curriculum_state.json    the curriculum after the last epoch
//	reward_plot.png, .svg    each reward by epoch, curriculum share
//	reward_histogram.png, .svg, length_histogram.png, .svg
//	report.html              the page to share: one file of at most 5 MB that needs no network
//
// Rewards are means over scored trajectories: a trajectory without a reward is
// excluded, not counted as 0. To add a figure to the report, add a field to Epoch, fill it
// in collect.go, and show it in table.go or files.go.
package report

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/storage"
)

// Options select the run and the output.
type Options struct {
	Root string // URI of the run: the folder of epoch-0, epoch-1, ...
	Out  string // where to write the files; "" for Root
	// NoFiles writes no files.
	NoFiles bool
	// Page also writes report.html and the histograms. They take a second reading of
	// the light columns of all epochs.
	Page bool
	// Known are epochs of an earlier report; they are not read again.
	Known []Epoch
}

// Run is the report of a run.
type Run struct {
	Root   string   `json:"root"`
	Epochs []Epoch  `json:"epochs"`
	Gaps   []string `json:"gaps,omitempty"`  // epochs between others without a finished rollout: "2", "4-7"
	Files  []string `json:"files,omitempty"` // URIs written
	Advice []string `json:"advice,omitempty"`
}

// Epoch is the report of one epoch. Fields of a stage that has no output yet are
// nil.
type Epoch struct {
	Epoch      int                `json:"epoch"`
	Time       time.Time          `json:"timestamp"`
	RunID      string             `json:"run_id"`
	Train      *Sample            `json:"train,omitempty"`
	Kept       *Sample            `json:"kept,omitempty"`
	Validation *Sample            `json:"validation,omitempty"`
	Scores     map[string]*Sample `json:"scores,omitempty"` // further score datasets, by the folder: "b", "validation/b"
	Flat       int64              `json:"flat_groups"`
	Drops      map[string]int64   `json:"drops,omitempty"`
	Curriculum *Curriculum        `json:"curriculum,omitempty"`
	Receipt    *receipts.Receipt  `json:"receipt,omitempty"`

	// how far the log probabilities of the trainer, before its first step, are above those of
	// the engine, in nats: the mean over trajectories; nil if the trainer gave none back
	Apart *float64 `json:"trainer_above_engine,omitempty"`
	Took
}

// Took is what an epoch took, and from which datasets it is known.
type Took struct {
	Seconds  map[string]float64 `json:"seconds,omitempty"`  // by stage
	Failures map[string]int64   `json:"failures,omitempty"` // of rollouts, by class
	Cost     Cost               `json:"cost,omitzero"`
	Datasets map[string]string  `json:"datasets,omitempty"` // digests by stage
}

// Cost is what the rollouts of an epoch used, and its held-out ones with them.
type Cost struct {
	Calls            int64 `json:"calls"`
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
}

// add adds what a rollout's manifest says.
func (c *Cost) add(facts map[string]float64) {
	c.Calls += int64(facts["calls"])
	c.PromptTokens += int64(facts["prompt_tokens"])
	c.CompletionTokens += int64(facts["completion_tokens"])
}

// Sample summarizes trajectories. Mean, Min and Max are over the scored ones, and
// null if there are none.
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

	StdErr        *float64           `json:"std_err,omitempty"`         // of Mean, by groups; null for fewer than two
	RewardStdErrs map[string]float64 `json:"reward_std_errs,omitempty"` // of Rewards

	weights map[string]float64 // of each named reward in the total
}

// MeanRewards returns the mean reward of each epoch that has one: in validation, or
// in training if no epoch was validated.
func (r Run) MeanRewards() map[int]float64 {
	for _, of := range Sides {
		out := map[int]float64{}
		for _, e := range r.Epochs {
			if s := of(e); s != nil && s.Mean != nil {
				out[e.Epoch] = *s.Mean
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// Make reads a run and writes the report's files.
func Make(ctx context.Context, o Options) (Run, error) {
	run, err := collect(ctx, o.Root, o.Known)
	if err != nil {
		return run, err
	}
	if len(run.Gaps) > 0 {
		run.Advice = []string{"no finished rollout of epoch " + strings.Join(run.Gaps, ", ") +
			": the report is of the other epochs"}
	}
	run.Advice = append(run.Advice, advice(run.Epochs)...)
	if len(o.Known) == 0 {
		changed, err := changedTasks(ctx, o.Root, run.Epochs)
		if err != nil {
			return run, err
		}
		run.Advice = append(run.Advice, changed...)
	}
	if o.NoFiles {
		return run, nil
	}
	out := cmp.Or(o.Out, o.Root)
	bucket, err := storage.Open(ctx, out)
	if err != nil {
		return run, err
	}
	files, err := render(run)
	if err != nil {
		return run, fmt.Errorf("report %q: %w", o.Root, err)
	}
	if o.Page {
		page, err := pageFiles(ctx, o.Root, run)
		if err != nil {
			return run, fmt.Errorf("report %q: %w", o.Root, err)
		}
		files = append(files, page...)
	}
	for _, f := range files {
		if err := bucket.Write(ctx, f.name, f.data); err != nil {
			return run, err
		}
		run.Files = append(run.Files, storage.Join(out, f.name))
	}
	return run, nil
}
