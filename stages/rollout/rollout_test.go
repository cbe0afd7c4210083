package rollout_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/backends/openai"
	"github.com/rollmill/rollmill/stages/internal/process"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/rollout/agents/agenttest"
	"github.com/rollmill/rollmill/stages/rollout/agents/chat"
	"github.com/rollmill/rollmill/stages/rollout/planning"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
	"github.com/rollmill/rollmill/storage/fault"
)

func TestMain(m *testing.M) {
	if os.Getenv("ROLLOUT_TEST_VICTIM") != "" {
		victim()
		return
	}
	if os.Getenv("ROLLOUT_TEST_ENGINE") != "" {
		serveLongAnswers()
		return
	}
	if script := os.Getenv("ROLLOUT_TEST_PROGRAM"); script != "" {
		_, _ = agents.Run(context.Background(), process.Program{Words: []string{"sh", "-c", script}})
		return
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

type engine = recordertest.Engine

func questions(n int) []formats.Example {
	out := make([]formats.Example, n)
	for i := range out {
		out[i] = formats.Example{ID: fmt.Sprintf("ex-%d", i), Question: fmt.Sprintf("what is %d?", i), Row: i,
			Fields: json.RawMessage(fmt.Sprintf(`{"id":"ex-%d","question":"what is %d?"}`, i, i))}
	}
	return out
}

func set(list []formats.Example) planning.Examples { return agenttest.Examples(list) }

func chatAgent(user string) agents.Agent {
	a, err := (&chat.Settings{User: user}).Agent(context.Background(), agents.Setup{Client: openai.Client{}})
	if err != nil {
		panic(err)
	}
	return a
}

// options are those of a run of n examples against an engine.
func options(e *engine, out string, n int) rollout.Options { return optionsAt(e.URL(), out, n) }

func optionsAt(url, out string, n int) rollout.Options {
	seed := int64(11)
	return rollout.Options{
		Out: stages.Output{URI: out}, Run: "run", Examples: set(questions(n)), ExamplesRef: manifest.Ref{URI: "examples.jsonl", Digest: "d1"},
		Generations: 3, Agent: chatAgent(""), Model: "policy", Sampling: map[string]any{"temperature": 0.7}, SamplingSeed: &seed,
		Endpoints: []string{url}, Concurrency: 4, Backoff: time.Millisecond,
	}
}

func newEngine(t testing.TB, e *engine) *engine {
	e.Source, e.PromptIDs = schema.TokensChoice, true
	return e.Start(t)
}

func run(t testing.TB, o rollout.Options) stages.Report {
	t.Helper()
	r, err := rollout.Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func rows(t testing.TB, uri string) []formats.Trajectory {
	t.Helper()
	ctx := context.Background()
	d, err := dataset.Open(ctx, uri, dataset.OpenOptions{Kind: schema.KindTrajectories, AcceptGates: []string{"max-failure-rate"}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := dataset.ReadAll[formats.Trajectory](ctx, d, "", d.All())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func kind(err error) fault.Kind {
	var e *fault.Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

// TestEveryAttemptIsARow: in order, with exactly the tokens that the engine
// sampled.
func TestEveryAttemptIsARow(t *testing.T) {
	e := newEngine(t, &engine{})
	out := filepath.Join(t.TempDir(), "out")
	report := run(t, options(e, out, 5))
	if report.Rows != 15 || report.Counts[outcomes.StatusOK] != 15 || !report.Sealed || report.RowsDigest == "" {
		t.Errorf("report %+v", report)
	}
	sampled := map[string]recordertest.Sample{}
	for _, s := range e.Sampled() {
		sampled[s.Content] = s
	}
	list := rows(t, out)
	if len(list) != 15 {
		t.Fatalf("%d rows", len(list))
	}
	for i, row := range list {
		if row.ExampleID != fmt.Sprintf("ex-%d", i/3) || int(row.Generation) != i%3 {
			t.Errorf("row %d is example %s, generation %d", i, row.ExampleID, row.Generation)
		}
		if row.TrajectoryID != formats.TrajectoryID("run", row.ExampleID, 0, i%3) || row.Status != outcomes.StatusOK || row.StopReason != outcomes.StopDone {
			t.Errorf("row %d: %s %s %s", i, row.TrajectoryID, row.Status, row.StopReason)
		}
		s, m := sampled[row.Answer], row.Messages[1]
		if fmt.Sprint(m.TokenIDs) != fmt.Sprint(s.IDs) || fmt.Sprint(m.Logprobs) != fmt.Sprint(s.Logprobs) ||
			fmt.Sprint(m.PromptDeltaIDs) != fmt.Sprint(s.Prompt) {
			t.Errorf("row %d: tokens are not those sampled", i)
		}
		if row.TokenSource != schema.TokensChoice || int(row.SampledTokens) != len(s.IDs) || row.Model != "policy" || row.Attempts != 1 {
			t.Errorf("row %d: %+v", i, row)
		}
		if row.Example != fmt.Sprintf(`{"id":"ex-%d","question":"what is %d?"}`, i/3, i/3) || row.Messages[0].Content != fmt.Sprintf("what is %d?", i/3) {
			t.Errorf("row %d: example %s", i, row.Example)
		}
	}
}

func TestTwiceIsOnce(t *testing.T) {
	e := newEngine(t, &engine{})
	o := options(e, filepath.Join(t.TempDir(), "out"), 2)
	first := run(t, o)
	asked := len(e.Asked())
	o.Concurrency, o.Retries, o.TrajectoryTimeout, o.Endpoints = 1, new(9), time.Hour, []string{"http://127.0.0.1:1/v1"}
	second := run(t, o)
	if !second.UpToDate || second.RowsDigest != first.RowsDigest || len(e.Asked()) != asked {
		t.Errorf("second run %+v, asked %d after %d", second, len(e.Asked()), asked)
	}
}

// TestTwoShardsAreOne: the same rows, whichever way the work is cut.
func TestTwoShardsAreOne(t *testing.T) {
	e := newEngine(t, &engine{})
	whole := run(t, options(e, filepath.Join(t.TempDir(), "out"), 5))
	for _, n := range []int{2, 3, 7} {
		out := filepath.Join(t.TempDir(), "out")
		var last stages.Report
		for i := range n {
			o := options(e, out, 5)
			o.Out.Shard = stages.Shard{Index: i, Count: n}
			last = run(t, o)
		}
		if !last.Sealed || last.RowsDigest != whole.RowsDigest {
			t.Errorf("%d shards: %+v, want digest %s", n, last, whole.RowsDigest)
		}
		for i, row := range rows(t, out) {
			if row.ExampleID != fmt.Sprintf("ex-%d", i/3) {
				t.Errorf("%d shards: row %d is example %s", n, i, row.ExampleID)
			}
		}
	}
}

// TestInterruptedAndResumed: the rows of an undisturbed run, and nothing is
// paid for twice but what was in flight.
func TestInterruptedAndResumed(t *testing.T) {
	quiet := newEngine(t, &engine{})
	want := run(t, options(quiet, filepath.Join(t.TempDir(), "out"), 10))
	out := filepath.Join(t.TempDir(), "out")
	var stop atomic.Pointer[context.CancelFunc]
	e := newEngine(t, &engine{Arrived: func(n int, _ recordertest.Request) {
		if n == 7 || n == 15 {
			(*stop.Load())()
		}
	}})
	interruptions := 0
	for range 10 {
		ctx, cancel := context.WithCancel(context.Background())
		stop.Store(&cancel)
		report, err := rollout.Run(ctx, options(e, out, 10))
		cancel()
		if err == nil {
			if report.RowsDigest != want.RowsDigest {
				t.Errorf("digest %s, undisturbed %s", report.RowsDigest, want.RowsDigest)
			}
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		interruptions++
	}
	if asked, limit := len(e.Asked()), 30+interruptions*4; interruptions != 2 || asked > limit {
		t.Errorf("%d interruptions, asked %d times, at most %d allowed", interruptions, asked, limit)
	}
}

// TestFailuresAreRows of one state each, and spare their siblings.
func TestFailuresAreRows(t *testing.T) {
	e := newEngine(t, &engine{Fault: func(_ int, q recordertest.Request) recordertest.Fault {
		switch question := q.Messages[0].Content; {
		case strings.Contains(question, "is 1?"):
			return recordertest.Fault{Status: 400}
		case strings.Contains(question, "is 2?"):
			return recordertest.Fault{Kind: recordertest.Merged}
		case strings.Contains(question, "is 3?"):
			return recordertest.Fault{Status: 500}
		}
		return recordertest.Fault{}
	}, Script: func(q recordertest.Request) recordertest.Reply {
		if strings.Contains(q.Messages[0].Content, "is 4?") {
			return recordertest.Reply{Content: "cut off in the mid", Finish: "length"}
		}
		return recordertest.Reply{Content: "fine"}
	}})
	out := filepath.Join(t.TempDir(), "out")
	o := options(e, out, 6)
	asked := questions(6)
	asked[5].Fields, asked[5].Question = json.RawMessage(`{"other":1}`), ""
	o.Examples = set(asked)
	o.Retries = new(1)
	o.MaxInitialFailures = -1 // whichever attempts end first
	_, err := rollout.Run(context.Background(), o)
	var gate *manifest.GateError
	if !errors.As(err, &gate) {
		t.Fatalf("12 of 18 failed, and the gate said %v", err)
	}
	want := map[int][3]string{
		0: {outcomes.StatusOK, outcomes.StopDone, ""},
		1: {outcomes.StatusFailed, outcomes.StopError, outcomes.FailEngineRefused},
		2: {outcomes.StatusFailed, outcomes.StopError, outcomes.FailLogprobMismatch},
		3: {outcomes.StatusFailed, outcomes.StopError, outcomes.FailEngine},
		4: {outcomes.StatusTruncated, outcomes.StopLength, ""},
		5: {outcomes.StatusFailed, outcomes.StopError, outcomes.FailExample},
	}
	list := rows(t, out)
	if len(list) != 18 {
		t.Fatalf("%d rows", len(list))
	}
	for i, row := range list {
		if got := [3]string{row.Status, row.StopReason, row.FailureClass}; got != want[i/3] {
			t.Errorf("row %d: %v, want %v (%s)", i, got, want[i/3], row.Error)
		}
		if (row.Status == outcomes.StatusFailed) != (row.Error != "") {
			t.Errorf("row %d: status %s, error %q", i, row.Status, row.Error)
		}
	}
	rate := 0.9
	o.MaxFailureRate = &rate
	report := run(t, o)
	if !report.UpToDate || report.Counts[outcomes.StatusFailed] != 12 || report.Counts[outcomes.StatusOK] != 3 || report.Counts[outcomes.StatusTruncated] != 3 {
		t.Errorf("%+v", report)
	}
}

// TestAHangingEngineIsATimeout of each trajectory that waits for it.
func TestAHangingEngineIsATimeout(t *testing.T) {
	e := newEngine(t, &engine{Fault: func(int, recordertest.Request) recordertest.Fault {
		return recordertest.Fault{Kind: recordertest.Hang}
	}})
	o := options(e, filepath.Join(t.TempDir(), "out"), 1)
	o.TrajectoryTimeout = 300 * time.Millisecond
	rate := 1.0
	o.MaxFailureRate = &rate
	run(t, o)
	for i, row := range rows(t, o.Out.URI) {
		if row.Status != outcomes.StatusFailed || row.StopReason != outcomes.StopTimeout || row.FailureClass != outcomes.FailTimeout || row.Error == "" {
			t.Errorf("row %d: %s %s %s (%s)", i, row.Status, row.StopReason, row.FailureClass, row.Error)
		}
	}
}

// TestRetryFailed attempts failures again, and only those.
func TestRetryFailed(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	var stop atomic.Pointer[context.CancelFunc]
	e := newEngine(t, &engine{Fault: func(_ int, q recordertest.Request) recordertest.Fault {
		if question := q.Messages[0].Content; strings.Contains(question, "is 1?") && broken.Load() {
			return recordertest.Fault{Status: 400}
		} else if strings.Contains(question, "is 3?") && broken.Load() {
			(*stop.Load())()
			return recordertest.Fault{Kind: recordertest.Hang}
		}
		return recordertest.Fault{}
	}})
	o := options(e, filepath.Join(t.TempDir(), "out"), 4)
	o.Concurrency = 1
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stop.Store(&cancel)
	if _, err := rollout.Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	broken.Store(false)
	before := len(e.Asked())
	o.RetryFailed = true
	report := run(t, o)
	if report.Counts[outcomes.StatusOK] != 12 {
		t.Errorf("%+v", report)
	}
	if again := len(e.Asked()) - before; again != 3+3 {
		t.Errorf("asked %d times more; 3 failures and 3 that were not attempted are 6", again)
	}
	for i, row := range rows(t, o.Out.URI) {
		if want := int32(1 + b2i(i/3 == 1)); row.Attempts != want {
			t.Errorf("row %d: %d attempts, want %d", i, row.Attempts, want)
		}
	}
}

// TestRetryFailedOfAFinishedDataset: what the gate refused is mended, only the
// failures are paid for again, and the plain command then is up to date.
func TestRetryFailedOfAFinishedDataset(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	e := newEngine(t, &engine{Fault: func(_ int, q recordertest.Request) recordertest.Fault {
		if !strings.Contains(q.Messages[0].Content, "is 0?") && broken.Load() {
			return recordertest.Fault{Status: 400}
		}
		return recordertest.Fault{}
	}})
	out := filepath.Join(t.TempDir(), "out")
	plain := options(e, out, 4)
	plain.MaxInitialFailures = -1 // whichever attempts end first
	var gate *manifest.GateError
	if _, err := rollout.Run(context.Background(), plain); !errors.As(err, &gate) {
		t.Fatalf("9 of 12 failed, and the gate said %v", err)
	}
	broken.Store(false)
	before := len(e.Asked())
	again := plain
	again.RetryFailed = true
	for i := range 2 {
		o := again
		o.Out.Shard = stages.Shard{Index: i, Count: 2}
		report := run(t, o)
		if report.Sealed != (i == 1) {
			t.Errorf("shard %d: %+v", i, report)
		}
	}
	if asked := len(e.Asked()) - before; asked != 9 {
		t.Errorf("asked %d times more", asked)
	}
	quiet := newEngine(t, &engine{})
	want := run(t, options(quiet, filepath.Join(t.TempDir(), "out"), 4))
	for _, o := range []rollout.Options{plain, again} {
		if r := run(t, o); !r.UpToDate || r.Counts[outcomes.StatusOK] != 12 || r.RowsDigest != want.RowsDigest {
			t.Errorf("%+v", r)
		}
	}
	if asked := len(e.Asked()) - before; asked != 9 {
		t.Errorf("asked %d times more", asked)
	}
	plain.Generations = 4
	var exists *manifest.ExistsError
	if _, err := rollout.Run(context.Background(), plain); !errors.As(err, &exists) {
		t.Errorf("another dataset was taken for this one: %v", err)
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestARefusalIsSaidOnce: as the error, or, if another endpoint answers, as a warning.
func TestARefusalIsSaidOnce(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no such key", http.StatusUnauthorized) }))
	t.Cleanup(web.Close)
	o := options(newEngine(t, &engine{}), filepath.Join(t.TempDir(), "out"), 1)
	good := o.Endpoints
	for _, c := range []struct {
		endpoints []string
		kind      fault.Kind
		warnings  int
	}{{[]string{web.URL, web.URL + "/v1"}, fault.Budget, 0}, {append(good, web.URL), "", 1}} {
		var log strings.Builder
		o.Endpoints, o.Log = c.endpoints, slog.New(slog.NewTextHandler(&log, nil))
		_, err := rollout.Run(t.Context(), o)
		if n := strings.Count(log.String(), "an endpoint does not answer"); kind(err) != c.kind || n != c.warnings ||
			strings.Count(log.String(), "refuses everybody") != n {
			t.Errorf("%d warnings, %v:\n%s", n, err, log.String())
		}
	}
}

// TestHopelessEnginesEndTheRun early, with a hint, and leave nothing behind
// that would have to be retried.
func TestHopelessEnginesEndTheRun(t *testing.T) {
	dead := (&engine{}).Start(t)
	dead.Close()
	o := options(dead, filepath.Join(t.TempDir(), "out"), 50)
	_, err := rollout.Run(context.Background(), o)
	if kind(err) != fault.Temporary || !strings.Contains(err.Error(), "failed to connect") || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("a dead engine: %v", err)
	}

	for _, c := range []struct {
		fault recordertest.Fault
		says  string
		kind  fault.Kind
	}{
		{recordertest.Fault{Kind: recordertest.NoLogprobs}, "no logprobs", fault.Failed},
		{recordertest.Fault{Kind: recordertest.BaseModel}, `answered by "base/model"`, fault.Failed},
		{recordertest.Fault{Status: 503}, "refused with 503", fault.Temporary},
		{recordertest.Fault{Status: 401}, "refused with 401", fault.Budget},
	} {
		for _, n := range []int{1, 50} {
			var bad atomic.Bool // calls under way may end after the run
			bad.Store(true)
			e := newEngine(t, &engine{})
			e.Fault = func(int, recordertest.Request) recordertest.Fault {
				if bad.Load() {
					return c.fault
				}
				return recordertest.Fault{}
			}
			o := options(e, filepath.Join(t.TempDir(), "out"), n)
			o.Retries = new(0)
			_, err := rollout.Run(context.Background(), o)
			if kind(err) != c.kind || !strings.Contains(err.Error(), c.says) || fault.HintOf(err) == "" || fault.HintOf(err) == "" {
				t.Errorf("%+v: %v", c.fault, err)
			}
			if asked := len(e.Asked()); asked > 75 && n == 50 { // those under way when the engine is tested go on
				t.Errorf("%+v: asked %d times before giving up", c.fault, asked)
			}
			bad.Store(false)
			if report := run(t, o); report.Counts[outcomes.StatusOK] != int64(3*n) {
				t.Errorf("%+v: after the engine was mended: %+v", c.fault, report)
			}
		}
	}
}
