package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats/outcomes"
)

// openTurns is the number of calls of a trajectory of the service.
const openTurns = 3

// openCounted is rollmill, which writes the numbers of its goroutines and open
// files to OPEN_COUNTS when it begins, on a signal, and when it has ended.
func openCounted() {
	to, err := os.OpenFile(os.Getenv("OPEN_COUNTS"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		panic(err)
	}
	if name := os.Getenv("OPEN_PROFILE"); name != "" {
		f, err := os.Create(name)
		if err != nil {
			panic(err)
		}
		pprof.StartCPUProfile(f)
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	count := func() {
		files, _ := os.ReadDir("/proc/self/fd")
		json.NewEncoder(to).Encode(openCounts{runtime.NumGoroutine(), len(files), residentBytes()})
	}
	count()
	go func() {
		for range asked {
			count()
			if name := os.Getenv("OPEN_PROFILE"); name != "" {
				if f, err := os.Create(name + ".heap"); err == nil {
					runtime.GC()
					pprof.WriteHeapProfile(f)
					f.Close()
				}
			}
		}
	}()
	code := app().Main()
	count()
	pprof.StopCPUProfile()
	os.Exit(code)
}

type openCounts struct {
	Goroutines, Files int
	Bytes             int64 // of memory
}

// residentBytes is what the process has of the machine's memory now.
func residentBytes() int64 {
	data, _ := os.ReadFile("/proc/self/statm")
	var all, resident int64
	fmt.Sscan(string(data), &all, &resident)
	return resident * int64(os.Getpagesize())
}

// openRun is one rollout.
type openRun struct {
	name        string
	service     bool // the agent is a service of openTurns calls, else a chat of one
	open, total int
	perToken    time.Duration
	step        bool
	kill        int // rollmill is killed after so many answers, and run again; 0: never
}

// openResult is what a run showed.
type openResult struct {
	openRun
	wall, cpu         time.Duration
	memory            int64 // bytes, at most
	before, full, end openCounts
	engine            *openEngine
	again             int // answers for trajectories that were answered before the kill
}

func (run openRun) measure(t *testing.T) openResult {
	t.Helper()
	dir := t.TempDir()
	var examples bytes.Buffer
	for i := range run.total {
		fmt.Fprintf(&examples, `{"id":"%06d","question":"what is %d + 1?"}`+"\n", i, i)
	}
	tasks, counts, out := filepath.Join(dir, "examples.jsonl"), filepath.Join(dir, "counts"), filepath.Join(dir, "rollout")
	for name, data := range map[string][]byte{tasks: examples.Bytes(), counts: nil} {
		if err := os.WriteFile(name, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	e := &openEngine{open: run.open, total: run.total, turns: 1, perToken: run.perToken, step: run.step, killAt: run.kill}
	agent := "chat"
	if run.service {
		e.turns, agent = openTurns, "http: "+startOpenService(t)
	}
	e.start(t)
	command := func() (cmd *exec.Cmd, stderr *bytes.Buffer) {
		cmd = exec.Command("opencounted", "rollout", "--examples", tasks, "--agent", agent, "--concurrency", strconv.Itoa(run.open), "--url", e.url, "--model",
			"policy", "--generations", "1",
			"--max-slowdown", "0", "--max-failure-rate", "0", "--retries", "0", "--call-timeout", "2m", "--out", out, "--json")
		cmd.Env = append(os.Environ(), "OPEN_COUNTS="+counts)
		stderr = &bytes.Buffer{}
		cmd.Stderr = stderr
		return cmd, stderr
	}
	cmd, stderr := command()
	e.full = func() {
		cmd.Process.Signal(syscall.SIGUSR1)
		waitForCounts(t, counts, 2)
	}
	from, cpu := time.Now(), time.Duration(0)
	if run.kill > 0 {
		e.kill = func() {
			waitForSegment(out)
			cmd.Process.Kill()
		}
		if err := cmd.Run(); err == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("%s: not killed: %v: %s", run.name, err, stderr)
		}
		cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		e.restart()
		cmd, stderr = command()
	}
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v, with at most %d calls at once: %s", run.name, err, e.peak, stderr)
	}
	used := cmd.ProcessState
	r := openResult{openRun: run, wall: time.Since(from), cpu: cpu + used.UserTime() + used.SystemTime(),
		memory: used.SysUsage().(*syscall.Rusage).Maxrss << 10, engine: e}
	all := waitForCounts(t, counts, 3)
	r.before, r.full, r.end = all[0], all[1], all[len(all)-1]
	for _, n := range e.given {
		r.again += n - e.turns
	}
	checkOpen(t, out, r)
	r.checkCounts(t)
	return r
}

// waitForSegment returns when the journal of a run has some trajectories.
func waitForSegment(out string) {
	for {
		found, _ := filepath.Glob(filepath.Join(out, ".rollmill", "*", "journal-*", "*.parquet"))
		if len(found) > 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// waitForCounts returns the counts that the process wrote, at least n.
func waitForCounts(t *testing.T, file string, n int) (all []openCounts) {
	for {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
			return make([]openCounts, n)
		}
		if bytes.Count(data, []byte("\n")) < n {
			time.Sleep(time.Millisecond)
			continue
		}
		for d := json.NewDecoder(bytes.NewReader(data)); d.More(); {
			var c openCounts
			if err := d.Decode(&c); err != nil {
				t.Error(err)
			}
			all = append(all, c)
		}
		return all
	}
}

// checkOpen compares the dataset with the engine's answers.
func checkOpen(t *testing.T, uri string, r openResult) {
	t.Helper()
	rows := trajectoriesAt(t, uri)
	for i, row := range rows {
		want := 0
		for turn := range r.engine.turns {
			want += openTokens(i, turn)
		}
		if row.Status != outcomes.StatusOK || int(row.SampledTokens) != want {
			t.Fatalf("%s: %s, %d tokens of %d: %s", row.ExampleID, row.Status, row.SampledTokens, want, row.Error)
		}
	}
	if calls := r.total*r.engine.turns + r.again; len(rows) != r.total || r.engine.answers != calls || r.engine.peak != r.open ||
		r.again > max(0, r.engine.before-1) {
		t.Errorf("%s: %d rows of %d, %d calls of %d, %d open at once of %d", r.name, len(rows), r.total, r.engine.answers, calls, r.engine.peak, r.open)
	}
}

// checkCounts fails when an open trajectory takes more goroutines or open files
// than it needs, when any is left at the end, and, by order alone, when a
// trajectory waits while others go on.
func (r openResult) checkCounts(t *testing.T) {
	t.Helper()
	goroutines, files := 3, 1 // of a chat: its own and two of the engine's connection
	if r.service {
		goroutines, files = 7, 3
	}
	if limit := (openCounts{Goroutines: goroutines*r.open + 32, Files: files*r.open + 32}); r.full.Goroutines > limit.Goroutines ||
		r.full.Files > limit.Files {
		t.Errorf("%s: %d goroutines and %d open files with %d trajectories; more than %d and %d", r.name, r.full.Goroutines, r.full.Files, r.open,
			limit.Goroutines, limit.Files)
	}
	if r.end.Goroutines > r.before.Goroutines+16 || r.end.Files > r.before.Files+16 {
		t.Errorf("%s: %+v at the end, %+v at the beginning", r.name, r.end, r.before)
	}
	for _, w := range r.engine.waits {
		if r.step && w.answers > 0 {
			t.Errorf("%s: %d answers went to others while a trajectory waited", r.name, w.answers)
		}
	}
}

// startOpenService starts the agent: each turn asks the same and adds the answer.
func startOpenService(t *testing.T) (url string) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1 << 20}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var task struct {
			Question string
			BaseURL  string `json:"base_url"`
		}
		if err := json.NewDecoder(r.Body).Decode(&task); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		messages := []map[string]string{{"role": "user", "content": task.Question}}
		for range openTurns {
			list, _ := json.Marshal(map[string]any{"model": "policy", "messages": messages})
			resp, err := client.Post(task.BaseURL+"/chat/completions", "application/json", bytes.NewReader(list))
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadGateway)
				return
			}
			var answer struct {
				Choices []struct{ Message struct{ Content string } }
			}
			err = json.NewDecoder(resp.Body).Decode(&answer)
			resp.Body.Close()
			if err != nil || len(answer.Choices) == 0 {
				http.Error(w, fmt.Sprint(resp.StatusCode, err), http.StatusBadGateway)
				return
			}
			messages = append(messages, map[string]string{"role": "assistant", "content": answer.Choices[0].Message.Content},
				map[string]string{"role": "user", "content": "are you sure?"})
		}
		io.WriteString(w, "{}")
	}))
	t.Cleanup(s.Close)
	t.Cleanup(client.CloseIdleConnections)
	return s.URL
}

// TestOpenTrajectories holds many trajectories open at once. Without OPEN, a few
// hundred, of which every one has its call at the engine before any is answered.
// OPEN is a number, of which the service gets OPEN_SERVICE.
func TestOpenTrajectories(t *testing.T) {
	open, full := 500, false
	if testing.Short() {
		open = 200
	}
	if n, err := strconv.Atoi(os.Getenv("OPEN")); err == nil {
		open, full = n, true
	}
	service := open / 2
	if n, err := strconv.Atoi(os.Getenv("OPEN_SERVICE")); err == nil {
		service = n
	}
	var runs []openRun
	if full {
		total := 2 * open
		runs = []openRun{
			{name: "chat, few open", open: 16, total: total},
			{name: "chat, as fast as it can", open: open, total: total},
			{name: "chat", open: open, total: total, perToken: 50 * time.Millisecond},
			{name: "chat, killed", open: open, total: total, perToken: 25 * time.Millisecond, kill: open + open/2},
			{name: "service, few open", service: true, open: 16, total: 2 * service},
			{name: "service", service: true, open: service, total: 2 * service, perToken: 50 * time.Millisecond},
		}
	} else {
		runs = []openRun{
			{name: "chat", open: open, total: 2 * open, step: true},
			{name: "chat, killed", open: open / 4, total: open / 2, perToken: 100 * time.Microsecond, kill: open * 3 / 8},
			{name: "service", service: true, open: service, total: 2 * service, step: true},
		}
	}
	for _, run := range runs {
		t.Run(run.name, func(t *testing.T) { printOpen(t, run.measure(t)) })
	}
}

func printOpen(t *testing.T, r openResult) {
	var out strings.Builder
	fmt.Fprintf(&out, "%d processors\n%-24s %7s %9s %8s %8s %9s %11s %11s %11s %26s %30s %14s\n", runtime.NumCPU(), "", "open", "calls/s", "ms cpu", "MB",
		"kB each", "goroutines", "open files", "at the end", "ms to the next call: p50, p99, max", "answers to others: p50, p99, max", "answered again")
	calls := float64(r.engine.answers)
	passed, took := quantiles(r.engine.waits)
	fmt.Fprintf(&out, "%-24s %7d %9.0f %8.3f %8.0f %9.1f %11d %11d %5d, %4d %26s %30s %14d\n", r.name, r.open, calls/r.wall.Seconds(),
		1e3*r.cpu.Seconds()/calls, float64(r.memory)/1e6, float64(r.full.Bytes-r.before.Bytes)/1e3/float64(r.open),
		r.full.Goroutines, r.full.Files, r.end.Goroutines, r.end.Files, took, passed, r.again)
	t.Log("\n" + out.String())
	t.Logf("%s, memory for each that is open: %.0f kB (aim: at most 100 with thousands open)", r.name, float64(r.full.Bytes-r.before.Bytes)/1e3/float64(r.open))
}

func quantiles(waits []wait) (passed, took string) {
	if len(waits) == 0 {
		return "-", "-"
	}
	at := func(share float64) wait { return waits[int(share*float64(len(waits)-1))] }
	slices.SortFunc(waits, func(a, b wait) int { return cmp.Compare(a.answers, b.answers) })
	passed = fmt.Sprintf("%d, %d, %d", at(.5).answers, at(.99).answers, at(1).answers)
	slices.SortFunc(waits, func(a, b wait) int { return cmp.Compare(a.took, b.took) })
	ms := func(w wait) float64 { return w.took.Seconds() * 1e3 }
	return passed, fmt.Sprintf("%.1f, %.1f, %.0f", ms(at(.5)), ms(at(.99)), ms(at(1)))
}

// TestTooFewFilesAreSaidBeforeTheFirstCall: more trajectories at once than the
// process can open files for are refused, with the number that fits.
func TestTooFewFilesAreSaidBeforeTheFirstCall(t *testing.T) {
	const limit = 300
	file := filepath.Join(t.TempDir(), "examples.jsonl")
	var examples bytes.Buffer
	for i := range 2 * limit {
		fmt.Fprintf(&examples, `{"id":"%06d","question":"what is %d + 1?"}`+"\n", i, i)
	}
	if err := os.WriteFile(file, examples.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	for agent, want := range map[string]string{"chat": "hint: --concurrency 236,", "http: http://127.0.0.1:1/": "hint: --concurrency 78,"} {
		e := &openEngine{open: 1, total: 1, full: func() {}}
		e.start(t)
		cmd := exec.Command("sh", "-c", fmt.Sprintf(`ulimit -n %d && exec rollmill "$@"`, limit), "sh", "rollout", "--examples", file, "--agent", agent,
			"--concurrency", "10000",
			"--url", e.url, "--model", "policy", "--generations", "1", "--out", filepath.Join(t.TempDir(), "out"))
		said, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(said), "600 trajectories at once need about") || !strings.Contains(string(said), want) {
			t.Errorf("%s: %v: %s", agent, err, said)
		}
		if e.answers != 0 {
			t.Errorf("%s: %d calls were paid for", agent, e.answers)
		}
	}
}
