// Package monitors keeps the figures of a command in a file of metrics, which the textfile
// collector of Prometheus's node_exporter reads. It is for scheduled jobs, which end before a
// server could ask them. Traces are sent by package stages/rollout/tracing; TensorBoard and
// MLflow get the figures of finished epochs from the Python module rollmill.track.
//
// The figures are the ones that the user sees: the counters of a stage's meter, which the
// progress lines show, and the stage's report, which --json prints. No dataset is read for them.
//
// The file is replaced as a whole: when the first stage begins, every few seconds,
// and when the command has ended, also after a failure or an interruption. The exit
// code and the time of the last success are kept from the file before, so that an
// alert on them holds while the next run is under way.
//
// The epoch is a metric, not a label: a label would begin new series every epoch, and
// no rate or graph would cross the border between two.
//
// Nothing here can fail or slow a stage. A goroutine writes the file, with the figures
// of that moment, so none wait for it. Its first error is logged as a warning, the
// others as debug messages, and none changes the exit code. At the end of a command it
// has a few seconds for what is left.
package monitors

import (
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage/fault"
)

// Settings are included by the settings of commands that are watched. Their zero value is off.
type Settings struct{ path string }

func (s *Settings) Declare(d *plugin.Declarer) {
	d.Heading("Monitors")
	d.String(&s.path, "metrics-file",
		"keep metrics in this `FILE.prom`, or in rollmill-COMMAND-RUN-SHARD.prom of an existing folder, for Prometheus's "+
			"textfile collector").DefaultShown("none").WrittenToRows()
}

// Metrics returns the settings, of the command that includes them.
func (s *Settings) Metrics() *Settings { return s }

// Job is what the metrics say all the time.
type Job struct {
	Command string // as it is typed: rollout, job wait
	Shard   string // the index of this process among several; "" for all of the work
	Log     *slog.Logger
}

// open returns the file, or nil without one. An error is about a setting: the command
// then does nothing.
func (s *Settings) open(job Job) (*file, error) {
	if s.path == "" {
		return nil, nil
	}
	if info, err := os.Stat(s.path); err == nil && info.IsDir() {
		return &file{folder: s.path, command: job.Command, shard: job.Shard}, nil
	}
	if !strings.HasSuffix(s.path, ending) {
		return nil, fault.Errorf(fault.Usage, "end the name in "+ending+", or name a folder that exists",
			"--metrics-file %q: the textfile collector does not read files of that name", s.path)
	}
	return &file{path: s.path, command: job.Command, shard: job.Shard}, nil
}

// stageMetrics are the figures of one stage.
//
// While it runs, Progress has what its meter counts: rows done, failures, spend. When
// it has ended well, Report has what the stage reports. Its Counts, Drops and Failures
// are rows by state, reason and class, and its Facts are the sums of the manifest.
type stageMetrics struct {
	stages.Progress
	Report *stages.Report // nil while the stage runs, and if it failed
	At     time.Time      // of the figures
}

// End is how a command ended.
type End struct {
	stages.Place     // as far as the command line says
	ExitCode     int // 0 also when the work was done before
	Begun, At    time.Time
}
