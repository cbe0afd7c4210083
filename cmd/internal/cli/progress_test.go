package cli

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
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

func testStreams(err *buffer, terminal bool) *console {
	s := sample().console(Streams{Out: &bytes.Buffer{}, Err: err, Lookup: func(string) (string, bool) { return "", false }})
	s.stderr.terminal = terminal
	return s
}

// TestBar checks that on a terminal a bar is redrawn, log lines appear whole above
// it, and output after the last bar goes directly to the terminal.
func TestBar(t *testing.T) {
	var err buffer
	s := testStreams(&err, true)
	first, second := s.meter("rollout", "trajectories", 10), s.meter("score", "rows", 0)
	first.Add(3)
	first.Note("2 failed")
	s.Logger().Warn("an engine is slow", "endpoint", "x")
	for deadline := time.Now().Add(10 * time.Second); !strings.Contains(err.String(), "3/10 trajectories"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no bar was drawn:\n%q", err.String())
		}
	}
	first.Done()
	second.Done()
	second.Done() // a second time changes nothing
	s.Say("rollout: 10 rows")
	got := err.String()
	for _, want := range []string{"level=WARN msg=\"an engine is slow\" endpoint=x\n", "2 failed", "\x1b["} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not on the terminal:\n%q", want, got)
		}
	}
	if !strings.HasSuffix(got, "rollout: 10 rows\n") {
		t.Errorf("the summary does not end it:\n%q", got)
	}
}

// TestLines checks that progress without a terminal is printed in lines, at
// intervals and without control characters.
func TestLines(t *testing.T) {
	var err buffer
	s := testStreams(&err, false)
	m := s.meter("rollout", "trajectories", 10).(*lines)
	m.Add(1)
	if err.String() != "" {
		t.Errorf("a line too soon: %q", err.String())
	}
	m.begin, m.last = m.begin.Add(-2*progressInterval), m.last.Add(-2*progressInterval)
	m.Note("1 failed")
	m.Add(4)
	m.Done()
	got := err.String()
	if !strings.HasPrefix(got, "rollout: 5 of 10 trajectories, ") || !strings.HasSuffix(got, "/s, 1 failed\n") || strings.Contains(got, "\x1b") {
		t.Errorf("got %q", got)
	}
}

func TestQuiet(t *testing.T) {
	var err buffer
	s := testStreams(&err, false)
	s.quiet, s.level = true, slog.LevelWarn
	m := s.meter("rollout", "trajectories", 10)
	m.Add(1)
	m.Done()
	s.Say("done")
	s.Logger().Info("details")
	if err.String() != "" {
		t.Errorf("quiet, and yet: %q", err.String())
	}
	s.fail("score", 1, Usagef("look there", "went wrong"))
	if err.String() != "rollmill score: went wrong\nhint: look there\n" {
		t.Errorf("an error is not printed when quiet: %q", err.String())
	}
}

// TestKeyIsRedacted checks that a key is in no log line and no error.
func TestKeyIsRedacted(t *testing.T) {
	var err buffer
	s := testStreams(&err, false)
	s.secrets.Add("KEY", "sk-12345")
	s.Logger().Warn("refused", "key", "sk-12345")
	s.fail("rollout", 1, Usagef("is sk-12345 right?", "key sk-12345 refused"))
	if strings.Contains(err.String(), "sk-12345") || strings.Count(err.String(), "[redacted:KEY]") != 3 {
		t.Errorf("got %q", err.String())
	}
}
