package monitors

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollmill/rollmill/stages"
)

// double is a monitor that records what it gets.
type double struct {
	err   error
	hangs bool

	mu   sync.Mutex
	got  []string
	seen chan struct{} // gets a value for each update
}

func (d *double) close(e End) error {
	d.add(fmt.Sprintf("end %d", e.ExitCode))
	return d.err
}

func (d *double) update(f stageMetrics) error {
	if d.hangs {
		select {}
	}
	text := fmt.Sprintf("%s %d", f.Stage, f.Done)
	if f.Report != nil {
		text += fmt.Sprintf(" rows %d", f.Report.Rows)
	}
	d.add(text)
	d.seen <- struct{}{}
	return d.err
}

func (d *double) add(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.got = append(d.got, text)
}

func begin(log *bytes.Buffer, d *double) (*Runner, stages.Env) {
	d.seen = make(chan struct{}, 100)
	r := start(slog.New(slog.NewTextHandler(log, nil)), d)
	return r, stages.Env{Progress: func(m *stages.Meter) func() { r.Begin(m); return nil }}
}

// TestFigures checks that a monitor gets each stage's figures when it begins and when
// it has ended, once, then the end.
func TestFigures(t *testing.T) {
	d := &double{}
	r, env := begin(&bytes.Buffer{}, d)
	m := env.Meter("rollout", "trajectories", 4)
	<-d.seen
	m.Add(4)
	m.Done()
	r.Report(stages.Place{}, stages.Report{Stage: "rollout", Rows: 4})
	<-d.seen
	r.Report(stages.Place{}, stages.Report{Stage: "score", Rows: 3}) // up to date: it had no meter
	<-d.seen
	env.Meter("group", "trajectories", 4).Add(1)
	r.End(End{ExitCode: 130})
	got := strings.Join(d.got, ", ")
	if !strings.HasPrefix(got, "rollout 0, rollout 4 rows 4, score 0 rows 3, group ") || !strings.HasSuffix(got, "group 1, end 130") ||
		strings.Count(got, "rows") != 2 {
		t.Error(got)
	}
}

// TestErrors checks that the first error is a warning and that nothing else comes of
// errors.
func TestErrors(t *testing.T) {
	var log bytes.Buffer
	d := &double{err: errors.New("the disk is full")}
	r, env := begin(&log, d)
	env.Meter("rollout", "trajectories", 4)
	<-d.seen
	r.End(End{})
	if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "level=WARN") || !strings.Contains(text, "the disk is full") {
		t.Errorf("logged:\n%s", text)
	}
}

// TestHang checks that a monitor that hangs does not keep the command from its end.
func TestHang(t *testing.T) {
	defer func(d time.Duration) { parting = d }(parting)
	parting = time.Millisecond
	var log bytes.Buffer
	r, env := begin(&log, &double{hangs: true})
	m := env.Meter("rollout", "trajectories", 4)
	m.Add(1) // returns at once
	r.End(End{})
	if !strings.Contains(log.String(), "did not get the last figures in time") {
		t.Errorf("logged: %s", log.String())
	}
}

// TestOff checks that without monitors there is nothing to call.
func TestOff(t *testing.T) {
	r, err := Start(Job{}, &Settings{})
	if r != nil || err != nil {
		t.Fatal(r, err)
	}
	r.Begin(nil)
	r.Report(stages.Place{}, stages.Report{})
	r.End(End{})
}
