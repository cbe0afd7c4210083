// Package prometheus writes the figures of a command to a file of metrics, which the
// textfile collector of Prometheus's node_exporter reads. It is for scheduled jobs,
// which end before a server could ask them.
//
// The file is replaced as a whole: when the first stage begins, every few seconds,
// and when the command has ended, also after a failure or an interruption. The exit
// code and the time of the last success are kept from the file before, so that an
// alert on them holds while the next run is under way.
//
// The epoch is a metric, not a label: a label would begin new series every epoch, and
// no rate or graph would cross the border between two.
package prometheus

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/rollmill/rollmill/cmd/internal/monitors"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage/fault"
)

const ending = ".prom" // of the files that the collector reads

// Settings are the settings of the monitor.
type Settings struct{ File string }

// Declare declares the settings.
func (s *Settings) Declare(d *plugin.Declarer) {
	d.String(&s.File, "metrics-file",
		"keep metrics in this `FILE.prom`, or in rollmill-COMMAND-RUN-SHARD.prom of an existing folder, for Prometheus's "+
			"textfile collector").Shown("none").Open()
}

// Open returns the monitor, or nil without a file.
func (s *Settings) Open(job monitors.Job) (monitors.Monitor, error) {
	if s.File == "" {
		return nil, nil
	}
	path := s.File
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return &file{folder: path, command: job.Command, shard: job.Shard}, nil
	}
	if !strings.HasSuffix(path, ending) {
		return nil, fault.Errorf(fault.Usage, "end the name in "+ending+", or name a folder that exists",
			"--metrics-file %q: the textfile collector does not read files of that name", s.File)
	}
	return &file{path: path, command: job.Command, shard: job.Shard}, nil
}

// file is the file of metrics.
type file struct {
	path, command, shard string
	folder               string             // in which path, "" until the first write, names the run and the shard
	stages               []monitors.Figures // the last figures of each
	before               past               // nil until it is read
}

func (f *file) Name() string { return "prometheus" }

// Update writes the file with the stage's figures.
func (f *file) Update(_ context.Context, g monitors.Figures) error {
	at := slices.IndexFunc(f.stages, func(known monitors.Figures) bool {
		return known.Stage == g.Stage && known.Validation == g.Validation
	})
	if at < 0 {
		f.stages = append(f.stages, g)
	} else {
		f.stages[at] = g
	}
	return f.write(nil, g.Run)
}

// Close writes the file for the last time.
func (f *file) Close(_ context.Context, e monitors.End) error { return f.write(&e, e.Run) }

// write replaces the file. end is nil while the command runs.
func (f *file) write(end *monitors.End, run string) error {
	if f.path == "" {
		name := "rollmill-" + strings.ReplaceAll(f.command, " ", "-")
		if run != "" {
			name += "-" + url.PathEscape(run)
		}
		if f.shard != "" {
			name += "-" + f.shard
		}
		f.path = filepath.Join(f.folder, name+ending)
	}
	if f.before == nil {
		f.before = readPast(f.path, f.command, run)
	}
	s := set{}
	for _, g := range f.stages {
		s.stage(g)
	}
	s.command(f.command, run, f.before, end)
	if f.shard != "" { // two files must not have one series
		for _, family := range s {
			for _, x := range family.Metric {
				x.Label = append(x.Label, &dto.LabelPair{Name: new("shard"), Value: &f.shard})
			}
		}
	}
	var text bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if _, err := expfmt.MetricFamilyToText(&text, s[name]); err != nil {
			return fmt.Errorf("metrics: %w", err)
		}
	}
	return monitors.Replace(f.path, text.Bytes())
}
