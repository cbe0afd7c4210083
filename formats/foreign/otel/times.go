package otel

import "github.com/rollmill/rollmill/formats"

// callTimes is when a call ran, and when the next one may begin.
type callTimes struct{ start, end, next Nanos }

func micros(t int64) Nanos { return Nanos(max(0, t)) * 1000 }

// timesOf places the calls of a trajectory one after the other, with equal pauses. If
// they took longer than the trajectory, some ran at the same time: then they begin
// earlier, but in their order and not before the trajectory.
func timesOf(t *formats.Trajectory) []callTimes {
	begin, end := micros(t.StartedAt), micros(t.FinishedAt)
	var busy Nanos
	for i := range t.Calls {
		busy += latency(&t.Calls[i])
	}
	var pause Nanos
	if n := Nanos(len(t.Calls)); n > 0 && begin > 0 && begin+busy < end {
		pause = (end - begin - busy) / n
	}
	out := make([]callTimes, len(t.Calls))
	last, at := begin, begin
	for i := range t.Calls {
		took := latency(&t.Calls[i])
		if begin == 0 { // without recorded times
			took = 0
		}
		start := at
		if start+took > end {
			start = max(last, end-min(end, took))
		}
		out[i] = callTimes{start, start + took, start + took + pause}
		last, at = start, out[i].next
	}
	return out
}

func latency(c *formats.Call) Nanos { return Nanos(max(0, c.LatencyMS)) * 1e6 }
