package submit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends/art/arttest"
	"github.com/rollmill/rollmill/stages/backends/customizer/customizertest"
	"github.com/rollmill/rollmill/stages/backends/openai/openaitest"
)

// customizing is a batch for NeMo Customizer.
func customizing(f customizertest.Faults) func(t *testing.T) (order, func() int) {
	return func(t *testing.T) (order, func() int) {
		_, o := place(t, arttest.Faults{})
		server := customizertest.New(f)
		t.Cleanup(server.Close)
		o.Entity, o.Data = server.URL, server.Datastore.URL
		return o, func() int { return len(server.Jobs()) }
	}
}

// toll lets requests through to a server, and kills who asks at the nth:
// before the server sees it, or when it has done what was asked.
type toll struct {
	mu     sync.Mutex
	asked  int
	kill   int
	before bool
	victim func()
}

// at stands before a server, under another address.
func (g *toll) at(t *testing.T, address string) string {
	t.Helper()
	to, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host // the server names further addresses by it
	}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		g.asked++
		doomed := g.asked == g.kill
		g.mu.Unlock()
		if doomed && g.before {
			g.victim()
			panic(http.ErrAbortHandler)
		}
		if !doomed {
			proxy.ServeHTTP(w, r)
			return
		}
		proxy.ServeHTTP(httptest.NewRecorder(), r)
		g.victim()
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestKilledAtAnyRequestAJobIsMadeAtMostOnce kills the sender at each request
// that it makes, before the service gets it and after, and runs the same
// command again: there is one job, and no person is needed. Without COUNT it is
// every other request, in a short run every seventh.
func TestKilledAtAnyRequestAJobIsMadeAtMostOnce(t *testing.T) {
	for backend, fresh := range map[string]func(t *testing.T) (order, func() int){
		"openai": fineTuningOf(openaitest.Faults{}), "customizer": customizing(customizertest.Faults{}),
	} {
		calm := &toll{}
		o, jobs := tolled(t, fresh, calm)
		if a := run(t, o); a.State != receipts.JobCompleted || jobs() != 1 || calm.asked < 6 {
			t.Fatalf("%s: %+v, %d jobs, %d requests", backend, a, jobs(), calm.asked)
		}
		step := 2
		if os.Getenv("COUNT") != "" {
			step = 1
		} else if testing.Short() {
			step = 7
		}
		for n := 0; n < calm.asked; n += step {
			for _, before := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/%d/before=%v", backend, n+1, before), func(t *testing.T) {
					t.Parallel()
					killedAtRequest(t, fresh, &toll{kill: n + 1, before: before})
				})
			}
		}
	}
}

func killedAtRequest(t *testing.T, fresh func(t *testing.T) (order, func() int), g *toll) {
	var died atomic.Bool
	ready := make(chan struct{})
	var kill func()
	g.victim = func() {
		<-ready
		died.Store(true)
		kill()
	}
	o, jobs := tolled(t, fresh, g)
	cmd, wait := helper(t, o)
	kill = func() { cmd.Process.Kill() }
	close(ready)
	if a := wait(); !a.killed || !died.Load() {
		t.Fatalf("it lived: %+v", a)
	}
	var a answer
	for range 5 {
		if a = run(t, o); a.State != "" {
			break
		}
	}
	if a.State != receipts.JobCompleted || a.Err != "" || jobs() != 1 {
		t.Errorf("%+v, %d jobs", a, jobs())
	}
	if again := run(t, o); again.State != a.State || jobs() != 1 {
		t.Errorf("%+v, %d jobs", again, jobs())
	}
}

// tolled puts a toll before every address of an order.
func tolled(t *testing.T, fresh func(t *testing.T) (order, func() int), g *toll) (order, func() int) {
	o, jobs := fresh(t)
	o.Wait = true
	for _, address := range []*string{&o.URL, &o.Entity, &o.Data} {
		if *address != "" {
			*address = g.at(t, *address)
		}
	}
	return o, jobs
}

func fineTuningOf(f openaitest.Faults) func(t *testing.T) (order, func() int) {
	return func(t *testing.T) (order, func() int) {
		_, o := place(t, arttest.Faults{})
		server := openaitest.New(f)
		t.Cleanup(server.Close)
		o.URL = server.URL
		return o, func() int { return len(server.Jobs()) }
	}
}
