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
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed" // the page and its style
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/pipelines/look/model"
	"github.com/rollmill/rollmill/pipelines/look/page"
	"github.com/rollmill/rollmill/pipelines/look/plot"
	"github.com/rollmill/rollmill/pipelines/look/text"
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

//go:embed page.html
var pageText string

// The page must not be longer than maxBytes. Trajectories take textBytes of it; if it
// becomes too long, they are cut further.
const (
	maxBytes  = 5_000_000
	textBytes = 3_000_000

	maxEpochs   = 200 // rows of a table
	maxFindings = 100
)

// sheet is what the template of report.html gets.
type sheet struct {
	*study
	Run          history.Run
	Title        string
	Time         time.Time
	Epochs       []history.Epoch // those in the tables
	Figures      []plot.FigureView
	Tiles        []history.Tile
	Components   []history.Tile
	Trajectories []*shownTrajectory
	Anchors      map[string]string
	Of           int64 // trajectories of the run
	Style        template.CSS
	StyleHash    string
}

var pageTemplate = template.Must(template.Must(page.Templates(template.FuncMap{
	"anchor": func(p *sheet, id string) string { return p.Anchors[id] },
	"place": func(p *sheet, uri string) string {
		return cmp.Or(strings.TrimPrefix(strings.TrimPrefix(uri, p.Run.Root), "/"), "the run")
	},
	"rest": func(t *shownTrajectory, i int) bool { return t.LeftOut > 0 && i == t.LeftOutAfter },
})).New("report").Parse(pageText))

// pageFiles returns report.html, and the histograms it shows.
func pageFiles(ctx context.Context, root string, run history.Run) ([]plot.File, error) {
	s, err := examine(ctx, root, run)
	if err != nil {
		return nil, err
	}
	var out []plot.File
	figures := []plot.FigureView{}
	add := func(f plot.Figure, alt, name string) error {
		view, err := f.View(alt)
		if err != nil {
			return err
		}
		files, err := f.Files(name)
		figures, out = append(figures, view), append(out, files...)
		return err
	}
	var rewards plot.FigureView
	if rewards, err = plot.RewardView(run); err == nil {
		figures = append(figures, rewards)
	}
	if err == nil && len(s.rewards) > 0 {
		err = add(plot.Histograms(run.Title(), "reward", 0, s.rewards), "Histograms of training rewards by epoch",
			"reward_histogram")
	}
	if err == nil && len(s.lengths) > 0 {
		err = add(plot.Histograms(run.Title(), "tokens", 3, s.lengths), "Histograms of lengths in sampled tokens by epoch",
			"length_histogram")
	}
	if err != nil {
		return nil, err
	}
	for budget := textBytes; budget > 1000; budget /= 2 {
		html, err := s.html(ctx, run, figures, budget)
		if err != nil {
			return nil, err
		}
		if len(html) <= maxBytes {
			return append(out, plot.File{Name: "report.html", Data: html}), nil
		}
	}
	return nil, errors.New("report.html would be larger than 5 MB even without conversations")
}

// html renders the page with about so many bytes of conversations.
func (s *study) html(ctx context.Context, run history.Run, figures []plot.FigureView, budget int) ([]byte, error) {
	style := page.Style + page.Reading
	sum := sha256.Sum256([]byte(style))
	p := &sheet{study: s, Run: run, Title: text.Visible(run.Title()), Epochs: plot.Spread(run.Epochs, maxEpochs), Figures: figures,
		Tiles: history.Tiles(run, func(history.Cost) float64 { return 0 }), Components: history.Components(run.Epochs),
		Anchors: map[string]string{}, Style: template.CSS(style), StyleHash: base64.StdEncoding.EncodeToString(sum[:])} //nolint:gosec // our own
	p.Run.Root = text.Visible(storage.Redact(run.Root))
	for _, e := range run.Epochs {
		if e.Time.After(p.Time) {
			p.Time = e.Time
		}
	}
	if err := s.trajectories(ctx, p, budget); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err := pageTemplate.Execute(&out, p)
	return out.Bytes(), err
}

func (s *study) trajectories(ctx context.Context, p *sheet, budget int) error {
	images, n := min(maxImages, budget), 0
	limit := min(maxTrajectories, maxTrajectories*8*budget/textBytes) // fewer only if shorter ones did not help
	for _, from := range s.strata {
		p.Of += from.d.Rows
		n += len(from.picks)
	}
	for _, from := range s.strata {
		err := from.read(ctx, func(c *model.Conversation) {
			if len(p.Trajectories) >= limit {
				return
			}
			v := trajectoryOf(c, budget/max(1, n), &images)
			v.Epoch, v.Validation, v.Anchor = from.Epoch, from.Validation, fmt.Sprintf("t%d", len(p.Trajectories)+1)
			if !from.Validation {
				p.Anchors[v.ID] = v.Anchor
			}
			p.Trajectories = append(p.Trajectories, v)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
