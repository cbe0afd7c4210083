package monitors

import (
	"io"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/rollmill/rollmill/storage/regular"
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
