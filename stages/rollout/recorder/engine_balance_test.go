package recorder_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
	"github.com/rollmill/rollmill/stages/rollout/recorder/engines"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

// several starts a recorder in front of n engines.
func several(t *testing.T, n int, change func(i int, e *recordertest.Engine), options ...func(*recorder.Options)) ([]*recordertest.Engine, *recorder.Recorder) {
	t.Helper()
	var made []*recordertest.Engine
	o := recorder.Options{Settings: engines.Settings{Backoff: time.Millisecond, HealthEvery: time.Millisecond}, Defaults: apis.Defaults{Model: "policy"}}
	for i := range n {
		e := &recordertest.Engine{Source: schema.TokensChoice}
		if change != nil {
			change(i, e)
		}
		e.Start(t)
		made = append(made, e)
		o.Endpoints = append(o.Endpoints, e.URL())
	}
	for _, c := range options {
		c(&o)
	}
	r, err := recorder.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return made, r
}

func asked(engines []*recordertest.Engine) (out []int) {
	for _, e := range engines {
		out = append(out, len(e.Asked()))
	}
	return out
}

// TestGroupsStayAndSpread: all calls of a group go to one endpoint, and groups
// are shared evenly.
func TestGroupsStayAndSpread(t *testing.T) {
	engines, r := several(t, 3, nil)
	var sessions []*recorder.Session
	for g := range 9 {
		for k := range 2 {
			sessions = append(sessions, r.Begin(context.Background(), fmt.Sprintf("t%d-%d", g, k), fmt.Sprintf("g%d", g)))
		}
	}
	for turn := range 2 {
		for i, s := range sessions {
			ask(t, s, nil, user(fmt.Sprintf("group %d turn %d", i/2, turn)))
		}
	}
	homes := map[string]int{}
	for i, s := range sessions {
		rec := s.End()
		homes[rec.Calls[0].Endpoint]++
		if rec.Calls[0].Endpoint != rec.Calls[1].Endpoint || i%2 == 1 && rec.Calls[0].Endpoint != sessionEndpoint(sessions[i-1]) {
			t.Errorf("trajectory %d moved", i)
		}
	}
	for url, n := range homes {
		if n != 6 {
			t.Errorf("%s has %d of 18 trajectories", url, n)
		}
	}
	if len(engines) != len(homes) {
		t.Errorf("%v", homes)
	}
}

func sessionEndpoint(s *recorder.Session) string { return s.End().Calls[0].Endpoint }

// TestLeastLoad: while one endpoint is busy, new groups go to the other.
func TestLeastLoad(t *testing.T) {
	hold := make(chan struct{})
	arrived := make(chan struct{}, 1)
	engines, r := several(t, 2, func(i int, e *recordertest.Engine) {
		e.Arrived = func(_ int, q recordertest.Request) {
			if q.Messages[0].Content == "slow" {
				arrived <- struct{}{}
				<-hold
			}
		}
	})
	slow := r.Begin(context.Background(), "slow", "slow")
	done := make(chan error, 1)
	go func() {
		_, _, err := send(slow, nil, user("slow"))
		done <- err
	}()
	<-arrived
	for i := range 6 {
		s := r.Begin(context.Background(), fmt.Sprint(i), fmt.Sprint(i))
		ask(t, s, nil, user("quick"))
		s.End()
	}
	close(hold)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	busy := slow.End().Calls[0].Endpoint
	for _, e := range engines {
		if want := map[bool]int{true: 1, false: 6}[e.URL() == busy]; len(e.Asked()) != want {
			t.Errorf("calls %v", asked(engines))
		}
	}
}

// TestEndpointsAreLeftOutAndComeBack: one that fails gets no more calls until
// it answers a health check.
func TestEndpointsAreLeftOutAndComeBack(t *testing.T) {
	var broken atomic.Bool
	var calls, checks atomic.Int32
	broken.Store(true)
	sick := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodGet {
			checks.Add(1)
		} else {
			calls.Add(1)
		}
		if broken.Load() {
			w.WriteHeader(500)
			return
		}
		fmt.Fprint(w, `{"model":"policy","choices":[{"index":0,"message":{"role":"assistant","content":"a"},"logprobs":{"content":[{"logprob":-1}]},"finish_reason":"stop"}]}`)
	}))
	defer sick.Close()
	engines, r := several(t, 1, nil, func(o *recorder.Options) { o.Endpoints = append([]string{sick.URL + "/v1"}, o.Endpoints...) })
	call := func(i int) string {
		s := r.Begin(context.Background(), fmt.Sprint(i), fmt.Sprint(i))
		if status, body := ask(t, s, nil, user("one")); status != 200 {
			t.Fatalf("%d %s", status, body)
		}
		return s.End().Calls[0].Endpoint
	}
	for i := range 40 {
		call(i)
	}
	if n := calls.Load(); n < 3 || n > 4 || len(engines[0].Asked()) != 40 {
		t.Errorf("the failing endpoint was asked %d times, the other %d", n, len(engines[0].Asked()))
	}
	broken.Store(false)
	for i := 40; call(i) != sick.URL+"/v1"; i++ {
		if i > 100000 {
			t.Fatal("the endpoint that answers again gets no calls")
		}
	}
	if checks.Load() == 0 {
		t.Error("nobody looked whether it answers again")
	}
}

// TestConcurrencyAdapts: an engine that takes no more than four calls at once
// is soon asked no more than it takes, and everything is answered.
func TestConcurrencyAdapts(t *testing.T) {
	const takes, many = 4, 32
	var mu sync.Mutex
	under, refused, lateRefused, served := 0, 0, 0, 0
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		under++
		full := under > takes
		if full {
			refused++
			if served > 200 {
				lateRefused++
			}
		} else {
			served++
		}
		mu.Unlock()
		defer func() { mu.Lock(); under--; mu.Unlock() }()
		if full {
			w.WriteHeader(429)
			return
		}
		time.Sleep(time.Millisecond) // the engine's work
		fmt.Fprint(w, `{"model":"policy","choices":[{"index":0,"message":{"role":"assistant","content":"a"},"logprobs":{"content":[{"logprob":-1}]},"finish_reason":"stop"}]}`)
	}))
	defer engine.Close()
	r, err := recorder.New(recorder.Options{Settings: engines.Settings{Endpoints: []string{engine.URL + "/v1"}, Backoff: time.Millisecond, Retries: 50, Connections: many, Slowdown: -1}, Defaults: apis.Defaults{Model: "policy"}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var wait sync.WaitGroup
	for i := range many {
		wait.Go(func() {
			for k := range 25 {
				s := r.Begin(context.Background(), fmt.Sprint(i, k), fmt.Sprint(i))
				status, body, err := send(s, nil, user("one"))
				if rec := s.End(); err != nil || status != 200 || rec.Untrainable != nil {
					t.Errorf("%v %d %s", err, status, body)
				}
			}
		})
	}
	wait.Wait()
	// With a fixed concurrency of 32 most tries would be refused.
	t.Logf("%d served, %d refused, %d of them after the first 200", served, refused, lateRefused)
	if served != many*25 || lateRefused > served-200 {
		t.Errorf("%d served, %d refused, %d late", served, refused, lateRefused)
	}
}

// TestRateLimit: the engine's clock sees no more requests than allowed.
func TestRateLimit(t *testing.T) {
	var mu sync.Mutex
	var at []time.Time
	_, r := several(t, 2, func(_ int, e *recordertest.Engine) {
		e.Arrived = func(int, recordertest.Request) { mu.Lock(); at = append(at, time.Now()); mu.Unlock() }
	}, func(o *recorder.Options) { o.RateLimit = 20 })
	s := r.Begin(context.Background(), "t", "g")
	began := time.Now() // at[0] may be noted long after it was allowed
	var wait sync.WaitGroup
	for i := range 30 {
		wait.Go(func() { send(s, nil, user(fmt.Sprint(i))) })
	}
	wait.Wait()
	s.End()
	if len(at) != 30 {
		t.Fatalf("%d requests", len(at))
	}
	// 20 at once, then one each 50 ms: the last cannot come before 450 ms.
	if took := at[29].Sub(began); took < 450*time.Millisecond {
		t.Errorf("30 requests at 20 a second within %v", took)
	}
}
