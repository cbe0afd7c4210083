// Package tensorboard writes the figures of a run as event files, which TensorBoard
// shows and W&B takes over. The step is the epoch.
//
// A stage of an epoch has a file of its own, whose name is always the same, and which
// is written at once when the stage has ended. So a stage that runs again replaces its
// figures: TensorBoard adds up the files of a folder, and would show the points of
// two. The names sort by epoch and stage, the order in which TensorBoard reads them.
package tensorboard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/rollmill/rollmill/cmd/internal/monitors"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Settings are the settings of the monitor.
type Settings struct{ Dir string }

// Declare declares the settings.
func (s *Settings) Declare(d *plugin.Declarer) {
	d.String(&s.Dir, "tensorboard",
		"write event files for TensorBoard, with the epoch as the step, into this local `FOLDER`, one for each run").
		Shown("none")
}

// Open returns the monitor, or nil without a folder.
func (s *Settings) Open(monitors.Job) (monitors.Monitor, error) {
	if s.Dir == "" {
		return nil, nil
	}
	return &folder{s.Dir}, nil
}

type folder struct{ dir string }

func (f *folder) Name() string { return "tensorboard" }

// Update writes the file of a stage that has ended.
func (f *folder) Update(_ context.Context, g monitors.Figures) error {
	if !g.Whole() {
		return nil
	}
	path := filepath.Join(f.dir, fileName(g))
	if _, err := os.Stat(path); g.Report.UpToDate && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var s summary
	for _, v := range g.Scalars() {
		s.scalar(v.Name, v.Value)
	}
	report, err := json.MarshalIndent(g.Report, "    ", "  ")
	if err != nil {
		return err
	}
	s.text(g.Series()+"/report/text_summary", "    "+string(report)) // indented: code
	return write(path, g, s)
}

// Distribution writes a file with the histogram of a stage's rewards.
func (f *folder) Distribution(_ context.Context, g monitors.Figures) error {
	if len(g.Rewards) == 0 {
		return nil
	}
	var s summary
	s.histogram(g.Series()+"/reward_distribution", g.Rewards)
	return write(filepath.Join(f.dir, fileName(g)+"-rewards"), g, s)
}

// write writes a file with one step.
func write(path string, g monitors.Figures, s summary) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return monitors.Replace(path, record(record(nil, version(g.At)), event(g.At, g.Step(), s)))
}

func (f *folder) Close(context.Context, monitors.End) error { return nil }

// order is that of the stages of an epoch.
var order = []string{"rollout", "score", "group", "curate", "submit"}

// fileName has the form that TensorBoard's readers look for, with the epoch in place of
// a time.
func fileName(g monitors.Figures) string {
	kind := "train"
	if g.Validation {
		kind = "before" // validation comes first, also in the order of names
	}
	return fmt.Sprintf("events.out.tfevents.%010d.%s-%d-%s", g.Step(), kind, slices.Index(order, g.Report.Stage)+1,
		filepath.Base(g.Report.Stage))
}
