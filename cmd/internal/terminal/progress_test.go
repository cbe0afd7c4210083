package terminal

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/storage/fault"
)

// buffer holds what a terminal or a log file receives.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func testStreams(err *buffer, terminal bool) *Console {
	s := New(Streams{Out: &bytes.Buffer{}, Err: err, Lookup: func(string) (string, bool) { return "", false }}, &secret.Set{},
		func(_, _, advice string) string { return advice })
	s.Stderr.terminal = terminal
	return s
}

// meterOf begins a meter.
func meterOf(s *Console, stage, unit string, total int64) (*stages.Meter, *gauge) {
	m := stages.Env{Retries: &s.Retries, Progress: s.Board.Begin}.Meter(stage, unit, total)
	return m, s.Board.gauges[len(s.Board.gauges)-1]
}

// TestBar checks that on a terminal a bar is redrawn, log lines appear whole above
// it, and output after the last bar goes directly to the terminal.
func TestBar(t *testing.T) {
	var err buffer
	s := testStreams(&err, true)
	first, g := meterOf(s, "rollout", "trajectories", 10)
	second, _ := meterOf(s, "score", "rows", 0)
	s.Board.update(time.Now())
	if g.bar != nil {
		t.Error("a bar within the first two seconds")
	}
	s.Board.update(time.Now().Add(patience))
	first.Add(3)
	first.Failed("timeout")
	s.Logger().Warn("an engine is slow", "endpoint", "x")
	for deadline := time.Now().Add(10 * time.Second); !strings.Contains(err.String(), "3 of 10 trajectories (30%)"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no bar was drawn:\n%q", err.String())
		}
	}
	first.Done()
	second.Done()
	second.Done() // a second time changes nothing
	s.Say("rollout: 10 rows")
	got := err.String()
	for _, want := range []string{"level=WARN msg=\"an engine is slow\" endpoint=x\n", "1 failed (timeout 1)", "score: 0 rows", "\x1b["} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not on the terminal:\n%q", want, got)
		}
	}
	if !strings.HasSuffix(got, "rollout: 10 rows\n") {
		t.Errorf("the summary does not end it:\n%q", got)
	}
}

// TestLines checks that progress without a terminal is printed in lines, at growing
// intervals and without control characters.
func TestLines(t *testing.T) {
	var err buffer
	s := testStreams(&err, false)
	m, g := meterOf(s, "rollout", "trajectories", 10)
	began := g.next.Add(-firstLine)
	m.Skip(2)
	m.Add(3)
	m.Failed("timeout")
	m.Failed("length")
	m.Failed("timeout")
	m.Note("\x1b[31mwriting")
	m.Spending(func() stages.Spend { return stages.Spend{PromptTokens: 30, CompletionTokens: 12, Cost: 0.25} })
	s.Retries.Add(1)
	var at []int
	for seconds := range 200 {
		before := len(err.String())
		s.Board.update(began.Add(time.Duration(seconds) * time.Second))
		if len(err.String()) > before {
			at = append(at, seconds)
		}
	}
	m.Done()
	if want := []int{15, 45, 105, 165}; !slices.Equal(at, want) {
		t.Errorf("lines at the seconds %v, want %v", at, want)
	}
	line, _, _ := strings.Cut(err.String(), "\n")
	if !strings.HasPrefix(line, "rollout: 5 of 10 trajectories (50%), ") || strings.Contains(line, "\x1b") ||
		!strings.HasSuffix(line, ` left, 1 retry, 42 tokens, cost 0.25, 3 failed (timeout 2, length 1), \x1b[31mwriting`) {
		t.Errorf("got %q", line)
	}
}

// TestRate checks that the rate is that of the last half minute, and does not count
// what was done before.
func TestRate(t *testing.T) {
	m := stages.Env{Progress: func(*stages.Meter) func() { return nil }}.Meter("score", "rows", 1000)
	begun := m.Progress().Begun
	g := &gauge{meter: m}
	m.Skip(500)
	m.Add(300) // in the first minute
	for s := range 100 {
		if s >= 60 {
			m.Add(1)
		}
		g.sample(begun.Add(time.Duration(s) * time.Second))
	}
	got := g.stateAt(begun.Add(99 * time.Second))
	if got.rate < 0.95 || got.rate > 1.05 || got.left < 150*time.Second || got.left > 170*time.Second {
		t.Errorf("%.3g a second, %s left for %d of %d", got.rate, got.left, got.Done, got.Total)
	}
}

// TestLinesInJSON checks that with --log-format json progress is structured.
func TestLinesInJSON(t *testing.T) {
	var err buffer
	s := testStreams(&err, true)
	s.LogJSON = true
	m, g := meterOf(s, "score", "trajectories", 8)
	m.Add(2)
	m.Failed("invalid")
	s.Board.update(g.next)
	var line struct {
		Msg, Stage, Unit string
		Done, Total      int64
		PerSecond        float64 `json:"per_second"`
		Failures         map[string]int
	}
	if e := json.Unmarshal([]byte(err.String()), &line); e != nil || line.Msg != "progress" || line.Stage != "score" || line.Done != 2 || line.Total != 8 ||
		line.PerSecond <= 0 || line.Failures["invalid"] != 1 {
		t.Errorf("%v: %s", e, err.String())
	}
}

// TestAsked checks that the state is printed when somebody asks, also with --quiet
// and when nothing is counted.
func TestAsked(t *testing.T) {
	var err buffer
	s := testStreams(&err, false)
	s.Quiet, s.Level = true, slog.LevelWarn
	asks := make(chan os.Signal)
	s.Board.Answer(t.Context(), "score", asks)
	asks <- nil
	m, _ := meterOf(s, "score", "rows", 4)
	m.Add(1)
	asks <- nil
	asks <- nil // the one before is answered
	if got := err.String(); !strings.HasPrefix(got, "score: has run for 0s; nothing is counted now\nscore: 1 of 4 rows (25%), ") {
		t.Errorf("got %q", got)
	}
}

func TestQuiet(t *testing.T) {
	var err buffer
	s := testStreams(&err, false)
	s.Quiet, s.Level = true, slog.LevelWarn
	m, g := meterOf(s, "rollout", "trajectories", 10)
	m.Add(1)
	s.Board.update(g.next)
	m.Done()
	s.Say("done")
	s.Logger().Info("details")
	if err.String() != "" {
		t.Errorf("quiet, and yet: %q", err.String())
	}
	s.Fail("score", 1, fault.Errorf(fault.Usage, "look there", "went wrong"))
	if err.String() != "rollmill score: went wrong\nhint: look there\n" {
		t.Errorf("an error is not printed when quiet: %q", err.String())
	}
}

// TestKeyIsRedacted checks that a key is in no log line and no error.
func TestKeyIsRedacted(t *testing.T) {
	var err buffer
	s := testStreams(&err, false)
	s.Secrets.Add("KEY", "sk-12345")
	s.Logger().Warn("refused", "key", "sk-12345")
	s.Fail("rollout", 1, fault.Errorf(fault.Usage, "is sk-12345 right?", "key sk-12345 refused"))
	if strings.Contains(err.String(), "sk-12345") || strings.Count(err.String(), "[redacted:KEY]") != 3 {
		t.Errorf("got %q", err.String())
	}
}
