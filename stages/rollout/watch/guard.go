package watch

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/storage/fault"
)

// Guard holds back the trajectories that must not be kept if the run ends early: the same command then makes them.
//
// These are the first ones while all of them fail, so that a run with a dead engine or a broken agent leaves nothing.
// And those whose last call failed while its model is silent: when the last calls of a model all failed at the
// engine, each endpoint is asked for one token. If none answers, no further attempt begins, as when a budget is spent.
type Guard struct {
	Initial    int              // how many first trajectories may fail; negative: any number
	Engine     int              // failed calls of a model in a row until the endpoints are asked; negative: they never are
	Clock      func() time.Time // when a silence begins
	Lost       func(ctx context.Context, model, api string) *fault.Error
	OthersWork func(context.Context) bool // whether other shards have a trajectory that did not fail

	asking sync.WaitGroup
	mu     sync.Mutex
	Passed bool                 // one did not fail
	first  []formats.Trajectory // until then
	silent map[string]*silence  // by model; nil until a call failed
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

// Called notes what became of a call. An answer to one that began during a silence ends it; a refusal of one request
// changes nothing.
func (g *Guard) Called(ctx context.Context, model, api string, began time.Time, f *completion.Failure) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.silent[model]
	switch {
	case f == nil && s != nil && !began.Before(s.since):
		g.endSilence(model)
	case f == nil, f.Class != outcomes.FailEngine && f.Mend == "":
	default:
		if s == nil {
			if g.silent == nil {
				g.silent = map[string]*silence{}
			}
			s = &silence{since: g.Clock()}
			g.silent[model] = s
		}
		s.api = api
		if s.calls++; g.Engine > 0 && s.calls%g.Engine == 0 && g.err == nil {
			g.asking.Go(func() { g.confirm(ctx, model) })
		}
	}
}

func (g *Guard) endSilence(model string) {
	if s := g.silent[model]; s != nil {
		g.freed = append(g.freed, s.held...)
		delete(g.silent, model)
	}
}

// Ended takes a finished trajectory and returns those that may be kept now, and the error that ends the run.
func (g *Guard) Ended(ctx context.Context, t formats.Trajectory) ([]formats.Trajectory, error) {
	g.mu.Lock()
	g.first = append(g.first, t)
	g.Passed = g.Passed || g.Initial < 0 || t.Status != outcomes.StatusFailed
	var err error
	if n := max(1, g.Initial); !g.Passed && len(g.first) >= n {
		err = unfit(g.first[:n])
	}
	g.mu.Unlock()
	if err = g.unlessOthersWork(ctx, err); err != nil {
		err = cmp.Or(g.settle(ctx, true), err)
	}
	return g.release(), err
}

// End is called after the last trajectory. fresh means that nothing was kept
// before: then a run of only engine failures is an error, too. A short run of
// other failures is a dataset, which the gate refuses.
func (g *Guard) End(ctx context.Context, fresh bool) ([]formats.Trajectory, error) {
	g.mu.Lock()
	var err error
	if fresh && !g.Passed && len(g.first) > 0 &&
		!slices.ContainsFunc(g.first, func(t formats.Trajectory) bool { return !slices.Contains(hopeless, t.FailureClass) }) {
		err = unfit(g.first)
	}
	g.Passed = err == nil
	g.mu.Unlock()
	err = g.unlessOthersWork(ctx, err)
	kept := g.release()
	err = cmp.Or(g.settle(ctx, err != nil), err)
	return append(kept, g.release()...), err
}

// unlessOthersWork returns the error of the first trajectories, or nil if those of other shards show that engine and
// agent work.
func (g *Guard) unlessOthersWork(ctx context.Context, err error) error {
	if err == nil || !g.OthersWork(ctx) {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.Passed = true
	return nil
}

// release returns what may be kept now.
func (g *Guard) release() (out []formats.Trajectory) {
	g.mu.Lock()
	defer g.mu.Unlock()
	out, g.freed = g.freed, nil
	if !g.Passed {
		return out
	}
	for _, t := range g.first {
		var s *silence
		if n := len(t.Calls); n > 0 && t.Calls[n-1].Error != "" {
			s = g.silent[t.Calls[n-1].Model]
		}
		if s == nil || g.Engine < 0 {
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
func (g *Guard) confirm(ctx context.Context, model string) error {
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
	lost := g.Lost(ctx, model, api)
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

// Wait waits until no endpoint is asked.
func (g *Guard) Wait() { g.asking.Wait() }

// Over returns the error of the engine that is lost: no further attempt begins.
func (g *Guard) Over() *fault.Error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// settle confirms every silence that holds something back, or every one if the run would end with an error.
func (g *Guard) settle(ctx context.Context, all bool) error {
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

// Stopped returns the error of the lost engine with what is kept of the run.
func (g *Guard) Stopped(total, kept int64) error {
	e := *g.err
	e.What = fmt.Sprintf("%s: %d of %d trajectories kept, %d not made", e.What, kept, total, total-kept)
	return &e
}
