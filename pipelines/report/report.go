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
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/pipelines/look/model"
	"github.com/rollmill/rollmill/pipelines/look/page"
	"github.com/rollmill/rollmill/pipelines/look/plot"
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
	Page   bool
	Prices history.Prices // of the calls
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
	run.Price(o.Prices)
	run.Advice = append(run.Advice, history.Advice(run.Epochs)...)
	if len(o.Known) == 0 {
		changed, err := history.AdviseTasks(ctx, o.Root, run.Epochs)
		if err != nil {
			return run, err
		}
		flipped, err := flips(ctx, o.Root, run.Epochs)
		if err != nil {
			return run, err
		}
		run.Advice = slices.Concat(run.Advice, changed, flipped)
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

// The page must not be longer than maxBytes. Trajectories take textBytes of it; if it
// becomes too long, they are cut further.
const (
	maxBytes  = 5_000_000
	textBytes = 3_000_000

	maxEpochs   = 200 // rows of a table
	maxFindings = 100
	maxImages   = 1 << 20 // bytes of all images
)

// pageFiles returns report.html, and the histograms it shows.
func pageFiles(ctx context.Context, root string, run history.Run) ([]plot.File, error) {
	s, err := examine(ctx, root, run)
	if err != nil {
		return nil, err
	}
	rewards, err := plot.RewardView(run)
	if err != nil {
		return nil, err
	}
	figures, out := []plot.FigureView{rewards}, []plot.File{}
	for _, h := range []struct {
		of               map[int]*plot.Counts
		name, axis, what string
		ink              int
	}{{s.rewards, "reward", "reward", "training rewards", 0}, {s.lengths, "length", "tokens", "lengths in sampled tokens", 3}} {
		if len(h.of) == 0 {
			continue
		}
		f := plot.Histograms(run.Title(), h.axis, h.ink, h.of)
		view, err := f.View("Histograms of " + h.what + " by epoch")
		if err != nil {
			return nil, err
		}
		files, err := f.Files(h.name + "_histogram")
		if err != nil {
			return nil, err
		}
		figures, out = append(figures, view), append(out, files...)
	}
	p := s.page(run, figures)
	for budget := textBytes; budget > 1000; budget /= 2 {
		if err := s.trajectories(ctx, budget); err != nil {
			return nil, err
		}
		html, err := page.File(run.Title(), p)
		if err != nil {
			return nil, err
		}
		if len(html) <= maxBytes {
			return append(out, plot.File{Name: "report.html", Data: html}), nil
		}
	}
	return nil, errors.New("report.html would be larger than 5 MB even without conversations")
}

// page returns the page of the run, whose trajectories are read later.
func (s *study) page(run history.Run, figures []plot.FigureView) page.Run {
	p := page.RunOf(run)
	p.Root, p.Notes, p.Figures, p.Study = storage.Redact(run.Root), run.Advice, figures, &s.Study
	for _, e := range run.Epochs {
		if e.Time.After(p.Time) {
			p.Time = e.Time
		}
	}
	for _, e := range plot.Spread(run.Epochs, maxEpochs) {
		p.Epochs = append(p.Epochs, page.EpochRow{Epoch: e, Known: true})
	}
	if len(p.Epochs) < len(run.Epochs) {
		p.EpochsLeft = fmt.Sprintf("%d of %d epochs are shown; training_metrics.jsonl has all.", len(p.Epochs), len(run.Epochs))
	}
	return p
}

// trajectories reads the sampled trajectories again, with about so many bytes of conversations.
func (s *study) trajectories(ctx context.Context, budget int) error {
	s.Study.Trajectories, s.Of, s.Groups.Anchors = nil, 0, map[string]string{}
	images, n := min(maxImages, budget), 0
	limit := min(maxTrajectories, maxTrajectories*8*budget/textBytes) // fewer only if shorter ones did not help
	for _, from := range s.strata {
		s.Of += from.d.Rows
		n += len(from.picks)
	}
	for _, from := range s.strata {
		err := from.read(ctx, func(c *model.Conversation) {
			if len(s.Trajectories) >= limit {
				return
			}
			v := page.SampledOf(c, budget/max(1, n), &images)
			v.Epoch, v.Validation, v.Anchor = from.Epoch, from.Validation, fmt.Sprintf("t%d", len(s.Trajectories)+1)
			if !from.Validation {
				s.Groups.Anchors[v.Row.TrajectoryID] = v.Anchor
			}
			s.Trajectories = append(s.Trajectories, v)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
