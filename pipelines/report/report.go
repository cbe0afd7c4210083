// Package report summarizes the epochs of a run: a table, a plot, and history
// files with the field names of the NeMo Agent Toolkit's finetuning harness. It
// reads datasets and writes only its own files. Package serve reads report.json back.
//
//	report.json              the figures, as --json prints them
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
// in collect.go, and show it in text.go or tiles.go of
// package history.
package report

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/rollmill/rollmill/pipelines/look/history"
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
	Known []history.Epoch
}

// Make reads a run and writes the report's files.
func Make(ctx context.Context, o Options) (history.Run, error) {
	run, err := history.Collect(ctx, o.Root, o.Known)
	if err != nil {
		return run, err
	}
	if len(run.Gaps) > 0 {
		run.Advice = []string{"no finished rollout of epoch " + strings.Join(run.Gaps, ", ") +
			": the report is of the other epochs"}
	}
	run.Advice = append(run.Advice, history.Advice(run.Epochs)...)
	if len(o.Known) == 0 {
		changed, err := history.AdviseTasks(ctx, o.Root, run.Epochs)
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
		if err := bucket.Write(ctx, f.Name, f.Data); err != nil {
			return run, err
		}
		run.Files = append(run.Files, storage.Join(out, f.Name))
	}
	return run, nil
}
