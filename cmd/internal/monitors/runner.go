package monitors

import (
	"log/slog"
	"sync"
	"time"

	"github.com/rollmill/rollmill/stages"
)

const interval = 5 * time.Second // between two updates of a running stage

var parting = 5 * time.Second // for all that is left when the command has ended; tests shorten it

// Runner keeps the file of a command. A nil Runner has none.
type Runner struct {
	log      *slog.Logger
	monitor  monitor
	wake     chan struct{} // a stage began or ended
	ended    chan struct{} // closed when the command has ended
	end      End           // set before
	done     chan struct{} // closed when the file has the end
	reported int           // stages of which the file has the last figures
	warned   bool

	mu     sync.Mutex
	stages []*stage
}

// monitor is what the runner's goroutine calls: file, or the double of a test.
type monitor interface {
	update(f stageMetrics) error // when a stage begins, every few seconds while it runs, and when it has ended
	close(e End) error           // once, when the command has ended, also after a failure or an interruption
}

// stage is what is known of one stage of one epoch.
type stage struct {
	meter  *stages.Meter // the last of its meters; nil if it had none
	at     stages.Place
	name   string
	report *stages.Report
}

// Start begins to keep the file, and returns nil if the settings name none.
func Start(job Job, s *Settings) (*Runner, error) {
	f, err := s.open(job)
	if f == nil || err != nil {
		return nil, err
	}
	return start(job.Log, f), nil
}

func start(log *slog.Logger, m monitor) *Runner {
	r := &Runner{log: log, monitor: m, wake: make(chan struct{}, 1), ended: make(chan struct{}), done: make(chan struct{})}
	go r.work()
	return r
}

// Begin adds the meter of a stage that begins, or of its next part.
func (r *Runner) Begin(m *stages.Meter) {
	p := m.Progress()
	r.update(p.Place, p.Stage, func(s *stage) { s.meter = m })
}

// Report adds the report of a stage that has ended well.
func (r *Runner) Report(at stages.Place, report stages.Report) {
	r.update(at, report.Stage, func(s *stage) { s.report = &report })
}

// update changes the stage that runs, or one that begins.
func (r *Runner) update(at stages.Place, name string, change func(*stage)) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var s *stage
	if n := len(r.stages); n > 0 {
		s = r.stages[n-1]
	}
	if s == nil || s.report != nil || s.name != name || !s.at.Equal(at) {
		s = &stage{at: at, name: name}
		r.stages = append(r.stages, s)
	}
	change(s)
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// work updates the file until the command has ended.
func (r *Runner) work() {
	defer close(r.done)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for over := false; !over; {
		select {
		case <-r.ended:
			over = true
		case <-tick.C:
		case <-r.wake:
		}
		list := r.figures(r.reported)
		for i, f := range list {
			r.warn(r.monitor.update(f))
			if f.Report != nil || i < len(list)-1 { // one stage runs at a time
				r.reported++
			}
		}
	}
	r.warn(r.monitor.close(r.end))
}

// figures returns the figures of the stages from the given one on.
func (r *Runner) figures(from int) (out []stageMetrics) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.stages[from:] {
		f := stageMetrics{Progress: s.meter.Progress(), Report: s.report, At: time.Now()}
		f.Place, f.Stage = s.at, s.name
		out = append(out, f)
	}
	return out
}

func (r *Runner) warn(err error) {
	switch {
	case err == nil:
	case r.warned:
		r.log.Debug("the file of metrics could not be written again", "error", err)
	default:
		r.warned = true
		r.log.Warn("the file of metrics could not be written; the command goes on", "error", err)
	}
}

// End writes the last figures and how the command ended, and returns when the file has
// them or the time is over.
func (r *Runner) End(e End) {
	if r == nil {
		return
	}
	r.end = e
	close(r.ended)
	select {
	case <-r.done:
	case <-time.After(parting):
		r.log.Warn("the file of metrics did not get the last figures in time")
	}
}
