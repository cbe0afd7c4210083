package monitors

import (
	"context"
	"time"
)

// work passes figures to one monitor until the command has ended.
func (r *Runner) work(ctx context.Context, w *worker) {
	defer close(w.done)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for over := false; !over; {
		select {
		case <-r.ended:
			over = true
		case <-tick.C:
		case <-w.wake:
		}
		list := r.figures(w.reported)
		for i, f := range list {
			w.call(ctx, r, func(ctx context.Context) error { return w.monitor.Update(ctx, f) })
			if f.Report != nil || i < len(list)-1 { // one stage runs at a time
				w.reported++
			}
		}
	}
	w.call(ctx, r, func(ctx context.Context) error { return w.monitor.Close(ctx, r.end) })
}

// figures returns the figures of the stages from the given one on.
func (r *Runner) figures(from int) (out []Figures) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.stages[from:] {
		f := Figures{Progress: s.meter.Progress(), Report: s.report, At: time.Now()}
		f.Place, f.Stage = s.at, s.name
		out = append(out, f)
	}
	return out
}

// call calls a monitor, with a deadline, and logs its error.
func (w *worker) call(ctx context.Context, r *Runner, do func(context.Context) error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := do(ctx)
	switch {
	case err == nil:
	case w.warned:
		r.log.Debug("a monitor failed again", "monitor", w.monitor.Name(), "error", err)
	default:
		w.warned = true
		r.log.Warn("a monitor failed; the command goes on", "monitor", w.monitor.Name(), "error", err)
	}
}
