package monitors

import (
	"io"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/rollmill/rollmill/storage/regular"
)

type metric struct {
	name, help string
	kind       dto.MetricType
}

var (
	counter = dto.MetricType_COUNTER
	gauge   = dto.MetricType_GAUGE

	done     = metric{"rollmill_stage_done", "Items of the stage that are done, such as trajectories.", gauge}
	expected = metric{"rollmill_stage_expected", "Items of the stage in all; absent if unknown.", gauge}
	seconds  = metric{"rollmill_stage_duration_seconds", "How long the stage has run.", gauge}
	epoch    = metric{"rollmill_epoch", "Epoch that the stage works on.", gauge}
	rows     = metric{"rollmill_rows_total", "Rows of the dataset by state, when the stage has ended.", counter}
	drops    = metric{"rollmill_drops_total", "Rows that were dropped, by reason, when the stage has ended.", counter}
	failures = metric{"rollmill_failures_total", "Rows that failed, by class.", counter}
	retries  = metric{"rollmill_retries_total", "Repeated requests to services and stores.", counter}
	tokens   = metric{"rollmill_tokens_total", "Tokens of the calls to models that this stage pays for.", counter}
	cost     = metric{"rollmill_cost_total",
		"What these calls cost, in whatever the prices are in; absent without prices.", counter}
	reward  = metric{"rollmill_reward_mean", "Mean of a reward over the rows that have it; reward=\"\" is the total.", gauge}
	trainer = metric{"rollmill_trainer_metric", "A figure that the trainer reported.", gauge}

	running  = metric{"rollmill_running", "1 while the command runs, then 0.", gauge}
	exit     = metric{"rollmill_exit_code", "Exit code of the last run that has ended.", gauge}
	ended    = metric{"rollmill_last_end_timestamp_seconds", "When the last run ended.", gauge}
	success  = metric{"rollmill_last_success_timestamp_seconds", "When a run last ended with exit code 0.", gauge}
	duration = metric{"rollmill_duration_seconds", "How long the last run took that has ended.", gauge}
)

// past is what the file before says of the runs that have ended, by metric.
type past map[string]float64

// kept lists the metrics of runs that have ended.
var kept = []metric{exit, ended, success, duration}

const maxFile = 4 << 20 // of a file that is read

// readPast reads the file before. A file that is absent or not one of ours says nothing.
func readPast(path, command, run string) past {
	p := past{}
	in, err := regular.Open(path)
	if err != nil {
		return p
	}
	defer in.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(io.LimitReader(in, maxFile))
	if err != nil {
		return p
	}
	for _, m := range kept {
		for _, x := range families[m.name].GetMetric() {
			if labelled(x, "command", command) && labelled(x, "run", valid(run)) {
				p[m.name] = x.GetGauge().GetValue()
			}
		}
	}
	return p
}

func labelled(x *dto.Metric, name, value string) bool {
	for _, l := range x.GetLabel() {
		if l.GetName() == name {
			return l.GetValue() == value
		}
	}
	return value == ""
}

// command adds how the command runs or has ended, and what is known of earlier runs.
func (s set) command(name, run string, before past, end *End) {
	now := 1.0
	if end != nil {
		now = 0
		at := float64(end.At.UnixMilli()) / 1000
		before[exit.name], before[ended.name], before[duration.name] = float64(end.ExitCode), at, end.At.Sub(end.Begun).Seconds()
		if end.ExitCode == 0 {
			before[success.name] = at
		}
	}
	s.add(running, now, "command", name, "run", run)
	for _, m := range kept {
		if value, ok := before[m.name]; ok {
			s.add(m, value, "command", name, "run", run)
		}
	}
}
