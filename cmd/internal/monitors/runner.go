package monitors

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/rollmill/rollmill/stages"
)

const (
	interval = 5 * time.Second  // between two updates of a running stage
	patience = 10 * time.Second // for one update
)

var parting = 5 * time.Second // for all that is left when the command has ended; tests shorten it

// Runner calls the monitors of a command. A nil Runner has none.
type Runner struct {
	log     *slog.Logger
	workers []*worker
	ended   chan struct{} // closed when the command has ended
	end     End           // set before

	mu     sync.Mutex
	stages []*stage
}

// stage is what is known of one stage of one epoch.
type stage struct {
	meter  *stages.Meter // the last of its meters; nil if it had none
	at     stages.Place
	name   string
	report *stages.Report
}

// worker calls one monitor.
type worker struct {
	monitor  Monitor
	wake     chan struct{} // a stage began or ended
	done     chan struct{} // closed when the monitor is
	reported int           // stages of which it has had the last figures
	warned   bool
}

// Start opens monitors, and returns nil if all are off.
func Start(ctx context.Context, job Job, list []Settings) (*Runner, error) {
	r := &Runner{log: job.Log, ended: make(chan struct{})}
	for _, s := range list {
		m, err := s.Open(job)
		if err != nil {
			return nil, err
		}
		if m != nil {
			r.workers = append(r.workers, &worker{monitor: m, wake: make(chan struct{}, 1), done: make(chan struct{})})
		}
	}
	if r.workers == nil {
		return nil, nil
	}
	ctx = context.WithoutCancel(ctx) // an interrupted command is reported too
	for _, w := range r.workers {
		go r.work(ctx, w)
	}
	return r, nil
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
	for _, w := range r.workers {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// End gives every monitor the last figures and how the command ended, and returns
// when they have them or their time is over.
func (r *Runner) End(e End) {
	if r == nil {
		return
	}
	r.end = e
	close(r.ended)
	ctx, cancel := context.WithTimeout(context.Background(), parting)
	defer cancel()
	for _, w := range r.workers {
		select {
		case <-w.done:
		case <-ctx.Done():
			r.log.Warn("a monitor did not get the last figures in time", "monitor", w.monitor.Name())
		}
	}
}
