package engines

import (
	"container/list"
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/rollmill/rollmill/stages/internal/remote"
)

// balance distributes calls among endpoints. A group stays on one, for its prefix cache, and a new group goes to the
// least loaded one. An endpoint that fails three times in a row gets no calls until it passes a health check. The
// number of concurrent calls per endpoint adapts: it shrinks when the endpoint answers 429 or 503, or takes much longer
// per token than at its best, and grows with each answer.
type balance struct {
	opts   *Settings
	client *http.Client
	ctx    context.Context // of health checks
	stop   context.CancelFunc
	checks sync.WaitGroup

	mu     sync.Mutex
	list   []*endpoint
	groups map[string]*group
	queue  list.List // of *waiter, in the order in which they came
}

// waiter is a call that waits for a free place.
type waiter struct {
	group string
	avoid *endpoint
	place chan *endpoint // gets the one that it may be sent to
}

type endpoint struct {
	url      string
	calls    int     // under way
	groups   int     // that stay here
	limit    float64 // of calls at once
	shrunk   time.Time
	best     time.Duration // for a token, at its fastest
	failures int           // in a row
	downs    int           // since its last answer
	down     bool
}

// group counts the running trajectories of one example; it is removed with the last.
type group struct {
	at       *endpoint // nil until its first call
	sessions int
}

// verdict is what a call showed about its endpoint.
type verdict int

const (
	answered verdict = iota
	throttled
	failing
	neither // refused, or cancelled by the recorder
)

func newBalance(o *Settings, client *http.Client) *balance {
	b := &balance{opts: o, client: client, groups: map[string]*group{}}
	b.ctx, b.stop = context.WithCancel(context.Background())
	for _, url := range o.Endpoints {
		b.list = append(b.list, &endpoint{url: url, limit: float64(o.Connections)})
	}
	return b
}

func (b *balance) close() {
	b.stop()
	b.checks.Wait()
}

func (b *balance) Join(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	g := b.groups[name]
	if g == nil {
		g = &group{}
		b.groups[name] = g
	}
	g.sessions++
}

func (b *balance) Leave(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	g := b.groups[name]
	if g.sessions--; g.sessions > 0 {
		return
	}
	if g.at != nil {
		g.at.groups--
	}
	delete(b.groups, name)
}

// acquire waits for a free place at an endpoint; calls that wait get one in the order in which they came. avoid is the
// endpoint that just failed this call, or nil.
func (b *balance) acquire(ctx context.Context, name string, avoid *endpoint) (*endpoint, error) {
	w := &waiter{name, avoid, make(chan *endpoint, 1)}
	b.mu.Lock()
	at := b.queue.PushBack(w)
	b.serve()
	b.mu.Unlock()
	select {
	case e := <-w.place:
		return e, nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case e := <-w.place: // too late
		e.calls--
		b.serve()
	default:
		b.queue.Remove(at)
	}
	return nil, context.Cause(ctx)
}

// serve gives the free places to the calls that have waited longest. No place
// is free for one call and not for another: see choose.
func (b *balance) serve() {
	for first := b.queue.Front(); first != nil; first = b.queue.Front() {
		w := first.Value.(*waiter)
		e := b.choose(w.group, w.avoid)
		if e == nil {
			return
		}
		e.calls++
		b.queue.Remove(first)
		w.place <- e
	}
}

// choose returns an endpoint with a free place; nil if there is none.
func (b *balance) choose(name string, avoid *endpoint) *endpoint {
	g := b.groups[name]
	if g != nil && g.at != nil && !g.at.down && g.at != avoid && g.at.free() {
		return g.at
	}
	best := b.lowestLoad(func(e *endpoint) bool { return !e.down && e != avoid && e.free() })
	if best == nil {
		best = b.lowestLoad(func(e *endpoint) bool { return !e.down && e.free() })
	}
	if best == nil && b.lowestLoad(func(e *endpoint) bool { return !e.down }) == nil {
		best = b.lowestLoad((*endpoint).free) // all are down: the call itself is the test
	}
	if best != nil && g != nil && (g.at == nil || g.at.down && !best.down) {
		if g.at != nil {
			g.at.groups--
		}
		g.at = best
		best.groups++
	}
	return best
}

func (e *endpoint) free() bool { return float64(e.calls) < max(1, e.limit) }

// lowestLoad returns the endpoint with the lowest load for which will returns true.
func (b *balance) lowestLoad(will func(*endpoint) bool) (best *endpoint) {
	for _, e := range b.list {
		if will(e) && (best == nil || e.busy() < best.busy() || e.busy() == best.busy() && e.groups < best.groups) {
			best = e
		}
	}
	return best
}

// busy returns the share of an endpoint's places that are taken.
func (e *endpoint) busy() float64 { return float64(e.calls) / max(1, e.limit) }

// Home returns where a group's calls go, or would go.
func (b *balance) Home(name string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if g := b.groups[name]; g != nil && g.at != nil {
		return g.at.url
	}
	if e := b.lowestLoad(func(e *endpoint) bool { return !e.down }); e != nil {
		return e.url
	}
	return b.list[0].url
}

// release frees a place. began is when the call was sent, and took is the time per token, if it was answered.
func (b *balance) release(e *endpoint, v verdict, began, now time.Time, took time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e.calls--
	switch v {
	case answered:
		e.failures, e.downs = 0, 0
		if took > 0 && (e.best == 0 || took < e.best) {
			e.best = took
		}
		if b.opts.Slowdown > 0 && took > 0 && float64(took) > b.opts.Slowdown*float64(e.best) {
			e.shrink(began, now, 0.9)
		} else {
			e.limit = min(float64(b.opts.Connections), e.limit+1/max(1, e.limit))
		}
	case throttled:
		e.failures = 0
		e.shrink(began, now, 0.7)
	case failing:
		if e.failures++; e.failures >= 3 && !e.down && len(b.list) > 1 {
			e.down = true
			b.opts.Log.Warn("an endpoint gets no calls until it answers again", "endpoint", e.url)
			b.checks.Add(1)
			go b.watch(e, b.opts.HealthEvery<<min(e.downs, 4))
			e.downs++
		}
	}
	b.serve()
}

// shrink lowers the limit to a share of the calls under way. It ignores calls
// that were sent before the limit last shrank.
func (e *endpoint) shrink(began, now time.Time, share float64) {
	if began.Before(e.shrunk) {
		return
	}
	e.limit, e.shrunk = max(1, share*min(e.limit, float64(e.calls+1))), now
}

// watch checks an endpoint that is down until it answers, first after pause.
func (b *balance) watch(e *endpoint, pause time.Duration) {
	defer b.checks.Done()
	for ; ; pause = min(2*pause, 16*b.opts.HealthEvery) {
		select {
		case <-time.After(pause):
		case <-b.ctx.Done():
			return
		}
		if b.healthy(e.url) {
			b.mu.Lock()
			defer b.mu.Unlock()
			e.down, e.failures = false, 0
			b.opts.Log.Info("an endpoint answers again", "endpoint", e.url)
			b.serve()
			return
		}
	}
}

// healthy requests the list of models, which every engine has and which costs nothing.
func (b *balance) healthy(url string) bool {
	ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/models", nil)
	if err != nil {
		return false
	}
	remote.Authorize(req, b.opts.APIKey)
	resp, err := b.client.Do(req)
	if err != nil {
		return false
	}
	io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20))
	resp.Body.Close()
	return resp.StatusCode < 500 && remote.Mend(resp.StatusCode, "") != remote.MendKey
}
