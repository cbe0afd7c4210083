package systemtest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

// The chaos test runs COUNT trajectories (few by default) against an engine that
// fails in many ways, and kills the stage KILLS times.
const (
	chaosGenerations = 4
	chaosConcurrency = 16
	chaosJournal     = 100 * time.Millisecond
)

// chaosFaults are the faults of requests, all equally likely.
var chaosFaults = []recordertest.Fault{
	{Status: 429, RetryAfter: "0.05"}, {Status: 500}, {Status: 503}, {Kind: recordertest.HalfBody}, {Kind: recordertest.Garbage}, {Kind: recordertest.Empty},
	{Kind: recordertest.NoLogprobs}, {Kind: recordertest.NaN}, {Kind: recordertest.Hang}, {Kind: recordertest.Drip},
}

// chaosEngine counts the sound answers to each call. The seed that rollout sends
// identifies a call.
type chaosEngine struct {
	*recordertest.Engine
	arrived chan int

	mu     sync.Mutex
	paid   map[string]int
	faults map[string]int
}

func newChaosEngine(t *testing.T, seed uint64, share float64) *chaosEngine {
	e := &chaosEngine{arrived: make(chan int, 1<<16), paid: map[string]int{}, faults: map[string]int{}}
	e.Engine = &recordertest.Engine{Model: "policy", Source: schema.TokensChoice, Fault: func(n int, q recordertest.Request) recordertest.Fault {
		dice := rand.New(rand.NewPCG(seed, uint64(n)))
		var f recordertest.Fault
		if dice.Float64() < share {
			f = chaosFaults[dice.IntN(len(chaosFaults))]
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		if f == (recordertest.Fault{}) {
			e.paid[string(q.Fields["seed"])]++
		} else {
			e.faults[fmt.Sprint(f.Status, f.Kind)]++
		}
		return f
	}, Arrived: func(n int, _ recordertest.Request) { e.arrived <- n }}
	e.Start(t)
	return e
}

// again returns the number of calls, and of sound answers to calls that already
// had one.
func (e *chaosEngine) again() (calls, again int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, n := range e.paid {
		calls++
		again += n - 1
	}
	return calls, again
}

func TestChaosRollout(t *testing.T) {
	trajectories, kills := 96, 2
	if n, err := strconv.Atoi(os.Getenv("COUNT")); err == nil {
		trajectories = n
	}
	if n, err := strconv.Atoi(os.Getenv("KILLS")); err == nil {
		kills = n
	}
	for name, agent := range map[string][]string{
		"chat":    {"--agent", "chat", "--user", "{{.question}}"},
		"workers": {"--agent", "command: twoturns worker", "--agent-workers", "4"},
	} {
		t.Run(name, func(t *testing.T) { chaos(t, agent, trajectories/2, (kills+1)/2) })
	}
}

func chaos(t *testing.T, agent []string, trajectories, kills int) {
	const seed = 11
	examples := max(1, trajectories/chaosGenerations)
	folder := t.TempDir()
	var lines strings.Builder
	for i := range examples {
		fmt.Fprintf(&lines, `{"id":"e%04d","question":"what is %d + 1?"}`+"\n", i, i)
	}
	file := filepath.Join(folder, "tasks.jsonl")
	if err := os.WriteFile(file, []byte(lines.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	e := newChaosEngine(t, seed, 0.15)
	out := filepath.Join(folder, "rollout")
	args := append([]string{"rollout", "--examples", file, "--generations", strconv.Itoa(chaosGenerations), "--url", e.URL(), "--model", "policy",
		"--sampling-seed", "1",
		"--concurrency", strconv.Itoa(chaosConcurrency), "--call-timeout", "1s", "--backoff", "20ms", "--retries", "6", "--journal-every",
		chaosJournal.String(),
		"--max-failure-rate", "1", "--max-initial-failures", "-1", "--out", out}, agent...)

	dice := rand.New(rand.NewPCG(seed, 1))
	var held []durable
	for kill := range kills {
		killAfter(t, e, args, out, 1+dice.IntN(max(2, trajectories/(kills+1))), kill)
		held = append(held, durableNow(t, out, e))
	}
	finish(t, args)
	checkNotRepeated(t, e, held)
	rows := chaosRows(t, out, examples)
	checkChaos(t, e, rows, examples)
	calls, again := e.again()
	states := map[string]int{}
	for _, r := range rows {
		states[r.Status+" "+r.FailureClass]++
	}
	t.Logf("%d trajectories, %d kills: %v; %d calls, %d answered once more than needed; faults %v", len(rows), kills, states, calls, again, e.faults)
}

// killAfter starts the stage and kills its process group after the engine
// received that many more requests and the journal has a segment.
func killAfter(t *testing.T, e *chaosEngine, args []string, out string, requests, kill int) {
	t.Helper()
	cmd := exec.Command("rollmill", args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for range requests {
		select {
		case <-e.arrived:
		case err := <-ended:
			t.Fatalf("kill %d: the stage ended before it was killed: %v\n%s", kill, err, stderr.String())
		}
	}
	for len(segments(t, out)) == 0 { // until there is something to keep
		select {
		case <-time.After(time.Millisecond):
		case err := <-ended:
			t.Fatalf("kill %d: the stage ended before it was killed: %v\n%s", kill, err, stderr.String())
		}
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-ended
	for len(e.arrived) > 0 {
		<-e.arrived
	}
	if _, err := dataset.Open(t.Context(), out, dataset.OpenOptions{}); err == nil {
		t.Fatal("a dataset is there before the run has ended")
	}
}

// durable is the content of the journal at a kill: the seeds of its trajectories'
// calls, and the number of requests until then.
type durable struct {
	asked int
	seeds map[string]bool
}

func durableNow(t *testing.T, out string, e *chaosEngine) durable {
	t.Helper()
	d := durable{seeds: map[string]bool{}, asked: len(e.Asked())}
	for _, name := range segments(t, out) {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parquet.Open(bytes.NewReader(data), int64(len(data)), name)
		if err != nil {
			t.Fatal(err)
		}
		type id struct {
			TrajectoryID string `parquet:"trajectory_id"`
		}
		list := make([]id, f.Rows())
		r, err := parquet.NewReader[id](f, 0, f.Rows())
		if err != nil {
			t.Fatal(err)
		}
		if n, err := r.Read(list); n < len(list) {
			t.Fatal(err)
		}
		for _, row := range list {
			for call := range 2 {
				d.seeds[fmt.Sprint(formats.Seed(1, row.TrajectoryID, "call", strconv.Itoa(call)))] = true
			}
		}
	}
	return d
}

func segments(t *testing.T, out string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(out, ".rollmill", "*", "journal-0", "*.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// checkNotRepeated checks that no run repeated calls of trajectories that were
// durable before it.
func checkNotRepeated(t *testing.T, e *chaosEngine, held []durable) {
	t.Helper()
	asked, maxDurable := e.Asked(), 0
	for kill, d := range held {
		for _, q := range asked[d.asked:] {
			if d.seeds[string(q.Fields["seed"])] {
				t.Errorf("a trajectory that was durable at kill %d was asked for again", kill)
			}
		}
		maxDurable = max(maxDurable, len(d.seeds)/2)
	}
	t.Logf("%d trajectories were durable at the last kill", maxDurable)
	if maxDurable == 0 {
		t.Error("no kill found anything durable")
	}
}

func finish(t *testing.T, args []string) {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command("rollmill", args...)
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("the last run: %v\n%s", err, stderr.String())
	}
}

func chaosRows(t *testing.T, uri string, examples int) []formats.Trajectory {
	t.Helper()
	d, rows := trajectoriesAt(t, uri)
	counts := map[string]int64{}
	for _, r := range rows {
		counts[r.Status]++
	}
	for status, n := range d.Counts {
		if counts[status] != n {
			t.Errorf("the manifest counts %d %s, the rows are %d", n, status, counts[status])
		}
	}
	if len(rows) != examples*chaosGenerations {
		t.Errorf("%d rows, want %d", len(rows), examples*chaosGenerations)
	}
	return rows
}

// checkChaos checks that every attempt ended once, with a status, and that sound
// trajectories hold what the engine sampled.
func checkChaos(t *testing.T, e *chaosEngine, rows []formats.Trajectory, examples int) {
	t.Helper()
	sampled := map[string]bool{}
	for _, s := range e.Sampled() {
		sampled[fmt.Sprint(s.IDs, s.Logprobs)] = true
	}
	seen := map[string]bool{}
	for _, r := range rows {
		id := fmt.Sprint(r.ExampleID, " ", r.Generation)
		if seen[id] {
			t.Errorf("%s ended twice", id)
		}
		seen[id] = true
		switch r.Status {
		case outcomes.StatusOK:
			checkSampled(t, id, r, sampled)
		case outcomes.StatusFailed:
			if r.FailureClass == "" || r.Error == "" {
				t.Errorf("%s failed without a class or an error", id)
			}
		default:
			t.Errorf("%s is %q", id, r.Status)
		}
	}
	for i := range examples {
		for g := range chaosGenerations {
			if id := fmt.Sprintf("e%04d %d", i, g); !seen[id] {
				t.Errorf("%s is missing", id)
			}
		}
	}
}

func checkSampled(t *testing.T, id string, r formats.Trajectory, sampled map[string]bool) {
	t.Helper()
	n := 0
	for _, m := range r.Messages {
		if !m.Sampled {
			continue
		}
		n++
		if !sampled[fmt.Sprint(m.TokenIDs, m.Logprobs)] {
			t.Errorf("%s: the engine never sampled %v, %v", id, m.TokenIDs, m.Logprobs)
		}
	}
	if n == 0 {
		t.Errorf("%s is sound without a sampled message", id)
	}
}
