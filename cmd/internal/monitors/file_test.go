package monitors

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/storage/fault"
)

// values reads a file of metrics with Prometheus's own parser: the value of each
// metric and its labels.
func values(t *testing.T, path string) map[string]float64 {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("%v:\n%s", err, data)
	}
	out := map[string]float64{}
	for name, f := range families {
		if f.GetHelp() == "" || strings.HasSuffix(name, "_total") != (f.GetType() == counter) {
			t.Errorf("%s: a %s with the help %q", name, f.GetType(), f.GetHelp())
		}
		for _, m := range f.GetMetric() {
			labels := []string{name}
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			out[strings.Join(labels, " ")] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return out
}

func opened(t *testing.T, path, command string) *file {
	t.Helper()
	m, err := (&Settings{path: path}).open(Job{Command: command})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

var (
	begun = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	later = begun.Add(90 * time.Second)
)

func figures(place stages.Place, report *stages.Report) stageMetrics {
	return stageMetrics{At: later, Report: report, Progress: stages.Progress{
		Place: place, Stage: "score", Unit: "trajectories", Total: 8, Done: 4, Retries: 3, Begun: begun,
		Failures: map[string]int64{"invalid": 2}, Spend: stages.Spend{PromptTokens: 100, CompletionTokens: 20, Cost: 0.5},
	}}
}

// TestFile checks the file while a stage runs, when it has ended, and when the command
// has, also for labels that must be escaped.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.prom")
	m := opened(t, path, "score")
	epoch := 7
	at := stages.Place{Run: "a \"b\"\\\nc\xff", Epoch: &epoch}
	const run = "run=a \"b\"\\\nc\uFFFD"
	const of = " " + run + " split=training stage=score"
	check := func(want map[string]float64) {
		t.Helper()
		got := values(t, path)
		for name, value := range want {
			if v, ok := got[name]; !ok || v != value {
				t.Errorf("%q is %v (%v), want %v; there are\n%s", name, v, ok, value, strings.Join(slices.Sorted(maps.Keys(got)), "\n"))
			}
		}
	}
	if err := m.update(figures(at, nil)); err != nil {
		t.Fatal(err)
	}
	check(map[string]float64{
		"rollmill_running command=score " + run: 1, "rollmill_epoch" + of: 7,
		"rollmill_stage_done" + of: 4, "rollmill_stage_expected" + of: 8, "rollmill_stage_duration_seconds" + of: 90,
		"rollmill_failures_total" + of + " class=invalid": 2, "rollmill_retries_total" + of: 3,
		"rollmill_tokens_total" + of + " kind=prompt": 100, "rollmill_tokens_total" + of + " kind=completion": 20, "rollmill_cost_total" + of: 0.5,
	})
	if got := values(t, path); got["rollmill_exit_code command=score "+run] != 0 || len(got) != 10 {
		t.Errorf("%d metrics: %v", len(got), got)
	}
	report := &stages.Report{Stage: "score", Counts: map[string]int64{"scored": 5, "failed": 3}, Failures: map[string]int64{"invalid": 1},
		Drops: map[string]int64{"flat": 2},
		Facts: map[string]float64{"reward_sum": 10, "rewards.exact.sum": 3, "rewards.exact.scored": 4, "rewards.none.sum": 0, "attempted": 5}}
	if err := errors.Join(m.update(figures(at, report)), m.close(End{Place: at, Begun: begun, At: later})); err != nil {
		t.Fatal(err)
	}
	check(map[string]float64{
		"rollmill_running command=score " + run: 0, "rollmill_exit_code command=score " + run: 0, "rollmill_duration_seconds command=score " + run: 90,
		"rollmill_last_success_timestamp_seconds command=score " + run: float64(later.Unix()),
		"rollmill_rows_total" + of + " state=scored":                   5, "rollmill_rows_total" + of + " state=failed": 3,
		"rollmill_drops_total" + of + " reason=flat": 2, "rollmill_failures_total" + of + " class=invalid": 1,
		"rollmill_reward_mean" + of + " reward=": 2, "rollmill_reward_mean" + of + " reward=exact": 0.75,
	})
	for name := range values(t, path) {
		if strings.Contains(name, "reward=none") {
			t.Errorf("a mean of nothing: %s", name)
		}
	}

	// A run that fails keeps the time of the last success; while it runs, the code of
	// the last run holds.
	m = opened(t, path, "score")
	if err := m.update(figures(at, nil)); err != nil {
		t.Fatal(err)
	}
	check(map[string]float64{"rollmill_running command=score " + run: 1, "rollmill_exit_code command=score " + run: 0})
	if err := m.close(End{Place: at, ExitCode: 143, Begun: later, At: later.Add(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	check(map[string]float64{
		"rollmill_exit_code command=score " + run: 143, "rollmill_last_success_timestamp_seconds command=score " + run: float64(later.Unix()),
		"rollmill_last_end_timestamp_seconds command=score " + run: float64(later.Add(time.Minute).Unix()),
	})
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v %v: the collector is another user", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) != 1 {
		t.Errorf("files are left: %v", left)
	}
}

// TestSeveralStages checks that a command of several stages and epochs has the last
// figures of each stage, and validation apart from training.
func TestSeveralStages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.prom")
	m := opened(t, path, "train")
	for e := range 3 {
		for _, validation := range []bool{true, false} {
			if err := m.update(figures(stages.Place{Run: "r", Epoch: &e, Validation: validation}, nil)); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := values(t, path)
	for _, split := range []string{"training", "validation"} {
		if e := got["rollmill_epoch run=r split="+split+" stage=score"]; e != 2 {
			t.Errorf("epoch %v of %s", e, split)
		}
	}
}

// TestName checks which file is written.
func TestName(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]string{"x.prom": "x.prom", "": "rollmill-job-wait.prom"} {
		m := opened(t, filepath.Join(dir, name), "job wait")
		if err := m.close(End{}); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, want)); err != nil {
			t.Error(err)
		}
	}
	for _, run := range []string{"a", "b/c"} { // at once
		if err := opened(t, dir, "score").update(figures(stages.Place{Run: run}, nil)); err != nil {
			t.Fatal(err)
		}
	}
	for _, shard := range []string{"0", "1"} {
		m, err := (&Settings{path: dir}).open(Job{Command: "score", Shard: shard})
		if err == nil {
			err = m.update(figures(stages.Place{Run: "a"}, nil))
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := values(t, filepath.Join(dir, "rollmill-score-a-"+shard+".prom")); got["rollmill_running command=score run=a shard="+shard] != 1 {
			t.Errorf("shard %s: %v", shard, got)
		}
	}
	for name, run := range map[string]string{"rollmill-score-a.prom": "a", "rollmill-score-b%2Fc.prom": "b/c"} {
		if got := values(t, filepath.Join(dir, name)); got["rollmill_running command=score run="+run] != 1 {
			t.Errorf("%s: %v", name, got)
		}
	}
	var usage *fault.Error
	if _, err := (&Settings{path: filepath.Join(dir, "x.txt")}).open(Job{}); !errors.As(err, &usage) || usage.Kind != fault.Usage {
		t.Errorf("a name that the collector does not read: %v", err)
	}
	if m, err := (&Settings{}).open(Job{}); m != nil || err != nil {
		t.Errorf("on without a file: %v", err)
	}
}

// TestOtherFile checks that whatever the file before holds is replaced, and that a
// folder that is gone is an error.
func TestOtherFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.prom")
	if err := os.WriteFile(path, []byte("rollmill_exit_code{ oops\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := opened(t, path, "score").close(End{}); err != nil {
		t.Fatal(err)
	}
	values(t, path)
	if err := opened(t, filepath.Join(filepath.Dir(path), "gone", "a.prom"), "score").close(End{}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
