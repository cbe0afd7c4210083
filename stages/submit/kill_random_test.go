package submit_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends/art/arttest"
	"github.com/rollmill/rollmill/stages/backends/customizer/customizertest"
	"github.com/rollmill/rollmill/stages/backends/hubtest"
	"github.com/rollmill/rollmill/stages/backends/openai/openaitest"
	"github.com/rollmill/rollmill/storage/fault"
)

// subject is a trainer as the outside sees it.
type subject struct {
	fresh  func(t *testing.T) (order, func() int)
	person bool // it cannot always tell by itself what became of a submission
}

// subjects are the backends, some of them misbehaving.
func subjects() map[string]subject {
	server := func(f arttest.Faults) func(t *testing.T) (order, func() int) {
		return func(t *testing.T) (order, func() int) {
			server, o := place(t, f)
			return o, server.Jobs
		}
	}
	tuning := func(f openaitest.Faults) func(t *testing.T) (order, func() int) {
		return func(t *testing.T) (order, func() int) {
			_, o := place(t, arttest.Faults{})
			server := openaitest.New(f)
			t.Cleanup(server.Close)
			o.URL = server.URL
			return o, func() int { return len(server.Jobs()) }
		}
	}
	return map[string]subject{
		"art":                         {server(arttest.Faults{}), true},
		"art, drops the answer":       {server(arttest.Faults{CloseBefore: true}), true},
		"art, no last chunk":          {server(arttest.Faults{CloseSaved: true}), true},
		"art, atomic":                 {server(arttest.Faults{Atomic: true}), false},
		"openai":                      {tuning(openaitest.Faults{}), false},
		"openai, drops after the job": {tuning(openaitest.Faults{DropAfterJob: true}), false},
		"openai, keeps no metadata":   {tuning(openaitest.Faults{NoMetadata: true}), false},
		"command":                     {program, false},
		"file":                        {files, false},

		"customizer":                       {customizing(customizertest.Faults{}), false},
		"customizer, drops after the job":  {customizing(customizertest.Faults{DropAfterJob: true, NoFields: true}), false},
		"customizer, 500 after the commit": {customizing(customizertest.Faults{Store: hubtest.Faults{AppliedThen500: 1, EmptyCommitURL: true}}), false},
	}
}

// files counts the finished sets of files.
func files(t *testing.T) (order, func() int) {
	_, o := place(t, arttest.Faults{})
	o.Files = true
	return o, func() int {
		if _, err := os.Stat(o.Out + "/_files.json"); err != nil {
			return 0
		}
		return 1
	}
}

// TestKilledAtRandom kills the sender of a batch COUNT times for each backend,
// at a moment that SEED chooses, and runs the same command until it is through
// or asks for a person: there is one job, or a person is told, and never two.
func TestKilledAtRandom(t *testing.T) {
	count, seed := number("COUNT", 2), number("SEED", 1)
	if testing.Short() {
		count = number("COUNT", 1)
	}
	all := subjects()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			s := all[name]
			o, jobs := s.fresh(t)
			o.Wait = true
			started := time.Now()
			if calm := run(t, o); calm.State != receipts.JobCompleted || jobs() != 1 {
				t.Fatalf("%+v, %d jobs", calm, jobs())
			}
			whole := time.Since(started) * crowd(count) // the others at work make it slower
			tally := map[string]int{}
			var mu sync.Mutex
			t.Run("kills", func(t *testing.T) {
				for i := range count {
					r := rand.New(rand.NewPCG(uint64(seed), uint64(formats.Seed(int64(seed), name, fmt.Sprint(i)))))
					delay := time.Duration((0.2 + 1.5*r.Float64()) * float64(whole))
					t.Run(fmt.Sprint(i), func(t *testing.T) {
						t.Parallel()
						came := killedAfter(t, s, delay)
						mu.Lock()
						defer mu.Unlock()
						tally[came]++
					})
				}
			})
			t.Logf("%d kills within %s: %v", count, whole.Round(time.Millisecond), tally)
		})
	}
}

// crowd is how many of so many parallel tests share a processor.
func crowd(tests int) time.Duration {
	atOnce, err := strconv.Atoi(flag.Lookup("test.parallel").Value.String())
	if err != nil {
		return 1
	}
	return time.Duration(max(1, min(tests, atOnce)/runtime.NumCPU()))
}

// killedAfter says how it went.
func killedAfter(t *testing.T, s subject, delay time.Duration) string {
	o, jobs := s.fresh(t)
	o.Wait = true
	cmd, wait := helper(t, o)
	ctx, cancel := context.WithTimeout(t.Context(), delay)
	defer cancel()
	<-ctx.Done() // the moment of death is what is random here
	cmd.Process.Kill()
	first := wait()
	before := jobs()
	var a answer
	for range 5 {
		if a = run(t, o); a.State != "" || a.Kind == fault.Person {
			break
		}
	}
	through := a.State == receipts.JobCompleted && a.Err == "" && jobs() == 1
	person := s.person && a.Kind == fault.Person && jobs() <= 1
	if !through && !person {
		t.Errorf("killed after %s: %+v, %d jobs", delay, a, jobs())
	}
	n := jobs()
	if again := run(t, o); again.State != a.State || again.Kind != a.Kind || jobs() != n {
		t.Errorf("%+v, then %+v; %d jobs, then %d", a, again, n, jobs())
	}
	switch {
	case !first.killed:
		return "ended before"
	case person:
		return "needs a person"
	case before == 1:
		return "found done"
	}
	return "sent again"
}
