package rollout_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/examples"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/rollout/planning"
)

// echo is an agent that gives one row for every attempt.
type echo struct{ row formats.Trajectory }

func (e echo) Describe() agents.Description {
	return agents.Description{Kind: "echo", Stored: e.stored}
}

func (echo) Close() error { return nil }
func (echo) Attempt(context.Context, agents.Attempt) (agents.Result, error) {
	panic("it asks no engine")
}
func (e echo) stored(context.Context, agents.Attempt) (formats.Trajectory, error) { return e.row, nil }

// weighed are examples that weigh the heap now and then while the last ones are
// attempted, and while the last rows are written: the least of it is what stays.
// Each is read for the identity and then for its attempt, and looked for when
// rows are put in order and when they are written.
type weighed struct {
	planning.Examples
	read, sought    atomic.Int64
	making, writing lowest
}

func (w *weighed) At(i int) (formats.Example, error) {
	w.making.look(2*int64(w.Len()) - w.read.Add(1))
	return w.Examples.At(i)
}

func (w *weighed) Find(id string) (int, bool, error) {
	w.writing.look(2*int64(w.Len()) - w.sought.Add(1))
	return w.Examples.Find(id)
}

// lowest is the smallest heap that was measured.
type lowest struct {
	mu    sync.Mutex
	bytes int64
	times int
}

func (l *lowest) look(left int64) {
	const looks, every = 8, 100
	if left < 0 || left >= looks*every || left%every > 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := heap(); l.times == 0 || now < l.bytes {
		l.bytes = now
	}
	l.times++
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// With more examples no more is in memory while trajectories are made, and when
// they are written little of each: what its part, which ends at a fixed size, holds
// back of the small columns.
func TestMemoryDoesNotGrowWithTheExamples(t *testing.T) {
	row := formats.Trajectory{Status: outcomes.StatusOK, StopReason: outcomes.StopDone, Messages: []formats.Message{
		{Role: "user", Content: "q", Parent: -1}, {Role: "assistant", Content: "a", Sampled: true}}}
	of := func(n int) (making, writing int64) {
		var file strings.Builder
		for i := range n {
			fmt.Fprintf(&file, `{"id":"ex-%d","question":"%s"}`+"\n", i, strings.Repeat("x", 300))
		}
		set, _, err := examples.Read("x.jsonl", strings.NewReader(file.String()), int64(file.Len()), examples.Options{})
		check(t, err)
		defer set.Close()
		w := &weighed{Examples: set}
		before := heap()
		run(t, rollout.Options{Out: stages.Output{URI: filepath.Join(t.TempDir(), "out")}, Run: "run", Examples: w, Agent: echo{row}})
		runtime.KeepAlive(&file)
		if w.making.times < 8 || w.writing.times < 8 {
			t.Fatalf("%d examples: read %d times, sought %d times", n, w.read.Load(), w.sought.Load())
		}
		return w.making.bytes - before, w.writing.bytes - before
	}
	n := 10_000 // enough to fill whatever is bounded
	if testing.Short() {
		n = 4000
	}
	making, writing := of(n)
	moreMaking, moreWriting := of(8 * n)
	made, written := float64(moreMaking-making)/float64(7*n), float64(moreWriting-writing)/float64(7*n)
	t.Logf("%.1f bytes for each example while trajectories are made, %.1f while they are written; %d and %d for %d", made, written, making, writing, n)
	if made > 200 || written > 250 {
		t.Errorf("%.0f bytes for each example are in memory while trajectories are made, %.0f while they are written", made, written)
	}
}
