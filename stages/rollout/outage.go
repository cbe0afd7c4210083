package rollout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/internal/remote"
	"github.com/rollmill/rollmill/stages/rollout/recorder/completion"
	"github.com/rollmill/rollmill/storage/fault"
)

// outage notices an engine that is lost in the middle of a run: when the last calls of a model all failed at the
// engine, each endpoint is asked for one token. If none answers, no further attempt begins, as when a budget is spent.
// Until an answer comes, trajectories whose last call failed are held back: if the engine is lost they are
// not kept, and the same command makes them.
type outage struct {
	after int // calls in a row; negative: the run never stops

	mu     sync.Mutex
	silent map[string]*silence // by model
	freed  []formats.Trajectory
	lost   *fault.Error
	asking sync.WaitGroup
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
func (r *runner) called(ctx context.Context, model, api string, began time.Time, f *completion.Failure) {
	o := &r.outage
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.silent[model]
	switch {
	case f == nil && s != nil && !began.Before(s.since):
		o.end(model)
	case f == nil, f.Class != outcomes.FailEngine && f.Mend == "":
	default:
		if s == nil {
			s = &silence{since: r.opts.Clock()}
			o.silent[model] = s
		}
		s.api = api
		if s.calls++; o.after > 0 && s.calls%o.after == 0 && o.lost == nil {
			o.asking.Go(func() { r.confirm(ctx, model) })
		}
	}
}

// end ends a model's silence: what was held back may be kept.
func (o *outage) end(model string) {
	if s := o.silent[model]; s != nil {
		o.freed = append(o.freed, s.held...)
		delete(o.silent, model)
	}
}

// hold returns the rows that may be kept now: those that are not held back, and those that no longer are.
func (o *outage) hold(rows []formats.Trajectory) []formats.Trajectory {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := o.freed
	o.freed = nil
	for _, t := range rows {
		var s *silence
		if n := len(t.Calls); n > 0 && t.Calls[n-1].Error != "" {
			s = o.silent[t.Calls[n-1].Model]
		}
		if s == nil || o.after < 0 {
			out = append(out, t)
			continue
		}
		s.held = append(s.held, t)
	}
	return out
}

// confirm asks the endpoints for a model that is silent. If one answers, the silence is over; otherwise the run
// stops.
func (r *runner) confirm(ctx context.Context, model string) error {
	o := &r.outage
	o.mu.Lock()
	s := o.silent[model]
	var api string
	if s != nil {
		api = s.api
	}
	o.mu.Unlock()
	if s == nil {
		return nil
	}
	lost := r.opts.lost(ctx, model, api)
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case ctx.Err() != nil || o.silent[model] != s: // it answered meanwhile
		return nil
	case lost == nil:
		o.end(model)
		return nil
	}
	o.lost = cmp.Or(o.lost, lost)
	return o.lost
}

// over reports whether no further attempt begins.
func (o *outage) over() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lost != nil
}

// settle confirms every silence that holds something back, or every one if the run would end with an error.
func (r *runner) settle(ctx context.Context, all bool) error {
	o := &r.outage
	o.mu.Lock()
	models := slices.Sorted(maps.Keys(o.silent))
	models = slices.DeleteFunc(models, func(m string) bool { return !all && len(o.silent[m].held) == 0 })
	o.mu.Unlock()
	for _, model := range models {
		if err := r.confirm(ctx, model); err != nil {
			return err
		}
	}
	return nil
}

// lost returns the error of a model that no endpoint answers: a temporary one if time may mend an endpoint. It is nil if
// one answers, or refuses only this request.
func (o Options) lost(ctx context.Context, model, api string) (lost *fault.Error) {
	c := remote.Client{Name: "rollout: the engine is lost", Sign: func(r *http.Request) { remote.Authorize(r, o.APIKey) },
		Secrets: []string{o.APIKey}}
	body := map[string]any{"model": model, "max_tokens": 1, "messages": []map[string]string{{"role": "user", "content": "Hello"}}}
	if api == "/completions" {
		body = map[string]any{"model": model, "max_tokens": 1, "prompt": "Hello"}
	}
	for _, url := range o.Endpoints {
		_, err := c.Do(ctx, remote.Request{Method: http.MethodPost, URL: strings.TrimRight(url, "/") + api, JSON: body,
			Limit: min(cmp.Or(o.CallTimeout, probeTimeout), probeTimeout)}, nil)
		var failed *remote.Error
		switch mend := remote.MendOf(err); {
		case mend != "" && lost == nil:
			lost = remote.Refuses(mend, keyFrom, "%w (model %q)", err, model)
		case mend != "":
		case errors.As(err, &failed) && failed.Retry:
			lost = fault.Errorf(fault.Temporary, "is the engine up? look at its log; then run the same command again, which makes the rest",
				"%w (model %q)", err, model)
		default:
			return nil
		}
	}
	return lost
}

const keyFrom = "that of --api-key-file, ROLLMILL_API_KEY or OPENAI_API_KEY, in this order"

// stopped adds to the error of a lost engine what is kept of the run.
func (o *outage) stopped(total, kept int64) error {
	e := *o.lost
	e.What = fmt.Sprintf("%s: %d of %d trajectories kept, %d not made", e.What, kept, total, total-kept)
	return &e
}
