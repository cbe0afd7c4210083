package rollout

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/rollout/recorder/completion"
	"github.com/rollmill/rollmill/storage/fault"
)

// guard holds back the trajectories that must not be kept if the run ends early: the same command then makes them.
//
// These are the first ones while all of them fail, so that a run with a dead engine or a broken agent leaves nothing.
// And those whose last call failed while its model is silent: when the last calls of a model all failed at the
// engine, each endpoint is asked for one token. If none answers, no further attempt begins, as when a budget is spent.
type guard struct {
	initial int              // how many first trajectories may fail; negative: any number
	engine  int              // failed calls of a model in a row until the endpoints are asked; negative: they never are
	clock   func() time.Time // when a silence begins
	lost    func(ctx context.Context, model, api string) *fault.Error
	others  func(context.Context) bool // whether other shards have a trajectory that did not fail

	asking sync.WaitGroup
	mu     sync.Mutex
	passed bool                 // one did not fail
	first  []formats.Trajectory // until then
	silent map[string]*silence  // by model
	freed  []formats.Trajectory // of silences that ended
	err    *fault.Error         // of the engine that is lost
}

// silence is what failed since a model's last answer.
type silence struct {
	since time.Time
	api   string // path of the last call
	calls int
	held  []formats.Trajectory
}

// called notes what became of a call. An answer to one that began during a silence ends it; a refusal of one request
// changes nothing.
func (g *guard) called(ctx context.Context, model, api string, began time.Time, f *completion.Failure) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.silent[model]
	switch {
	case f == nil && s != nil && !began.Before(s.since):
		g.endSilence(model)
	case f == nil, f.Class != outcomes.FailEngine && f.Mend == "":
	default:
		if s == nil {
			s = &silence{since: g.clock()}
			g.silent[model] = s
		}
		s.api = api
		if s.calls++; g.engine > 0 && s.calls%g.engine == 0 && g.err == nil {
			g.asking.Go(func() { g.confirm(ctx, model) })
		}
	}
}

func (g *guard) endSilence(model string) {
	if s := g.silent[model]; s != nil {
		g.freed = append(g.freed, s.held...)
		delete(g.silent, model)
	}
}

// ended takes a finished trajectory and returns those that may be kept now, and the error that ends the run.
func (g *guard) ended(ctx context.Context, t formats.Trajectory) ([]formats.Trajectory, error) {
	g.mu.Lock()
	g.first = append(g.first, t)
	g.passed = g.passed || g.initial < 0 || t.Status != outcomes.StatusFailed
	var err error
	if n := max(1, g.initial); !g.passed && len(g.first) >= n {
		err = unfit(g.first[:n])
	}
	g.mu.Unlock()
	if err = g.unlessOthersWork(ctx, err); err != nil {
		err = cmp.Or(g.settle(ctx, true), err)
	}
	return g.release(), err
}

// end is called after the last trajectory. fresh means that nothing was kept
// before: then a run of only engine failures is an error, too. A short run of
// other failures is a dataset, which the gate refuses.
func (g *guard) end(ctx context.Context, fresh bool) ([]formats.Trajectory, error) {
	g.mu.Lock()
	var err error
	if fresh && !g.passed && len(g.first) > 0 &&
		!slices.ContainsFunc(g.first, func(t formats.Trajectory) bool { return !slices.Contains(hopeless, t.FailureClass) }) {
		err = unfit(g.first)
	}
	g.passed = err == nil
	g.mu.Unlock()
	err = g.unlessOthersWork(ctx, err)
	kept := g.release()
	err = cmp.Or(g.settle(ctx, err != nil), err)
	return append(kept, g.release()...), err
}

// unlessOthersWork returns the error of the first trajectories, or nil if those of other shards show that engine and agent work.
func (g *guard) unlessOthersWork(ctx context.Context, err error) error {
	if err == nil || !g.others(ctx) {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.passed = true
	return nil
}

// release returns what may be kept now.
func (g *guard) release() (out []formats.Trajectory) {
	g.mu.Lock()
	defer g.mu.Unlock()
	out, g.freed = g.freed, nil
	if !g.passed {
		return out
	}
	for _, t := range g.first {
		var s *silence
		if n := len(t.Calls); n > 0 && t.Calls[n-1].Error != "" {
			s = g.silent[t.Calls[n-1].Model]
		}
		if s == nil || g.engine < 0 {
			out = append(out, t)
			continue
		}
		s.held = append(s.held, t)
	}
	g.first = nil
	return out
}

// confirm asks the endpoints for a model that is silent. If one answers, the silence is over; otherwise the run
// stops.
func (g *guard) confirm(ctx context.Context, model string) error {
	g.mu.Lock()
	s := g.silent[model]
	var api string
	if s != nil {
		api = s.api
	}
	g.mu.Unlock()
	if s == nil {
		return nil
	}
	lost := g.lost(ctx, model, api)
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case ctx.Err() != nil || g.silent[model] != s: // it answered meanwhile
		return nil
	case lost == nil:
		g.endSilence(model)
		return nil
	}
	g.err = cmp.Or(g.err, lost)
	return g.err
}

// over returns the error of the engine that is lost: no further attempt begins.
func (g *guard) over() *fault.Error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// settle confirms every silence that holds something back, or every one if the run would end with an error.
func (g *guard) settle(ctx context.Context, all bool) error {
	g.mu.Lock()
	models := slices.Sorted(maps.Keys(g.silent))
	models = slices.DeleteFunc(models, func(m string) bool { return !all && len(g.silent[m].held) == 0 })
	g.mu.Unlock()
	for _, model := range models {
		if err := g.confirm(ctx, model); err != nil {
			return err
		}
	}
	return nil
}

// stopped returns the error of the lost engine with what is kept of the run.
func (g *guard) stopped(total, kept int64) error {
	e := *g.err
	e.What = fmt.Sprintf("%s: %d of %d trajectories kept, %d not made", e.What, kept, total, total-kept)
	return &e
}
