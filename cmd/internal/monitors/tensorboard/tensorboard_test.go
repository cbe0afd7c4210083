package tensorboard

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/rollmill/rollmill/cmd/internal/monitors"
	"github.com/rollmill/rollmill/stages"
)

// TestRecord compares a record with one that TensorBoard's own RecordWriter wrote.
func TestRecord(t *testing.T) {
	const want = "1800000000000000a37f4b2209000000000000f83f1a0d627261696e2e4576656e743a322a28646c"
	if got := hex.EncodeToString(record(nil, version(time.Unix(1, 500_000_000)))); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func figures(epoch int, stage string, validation, upToDate bool) monitors.Figures {
	f := monitors.Figures{Report: &stages.Report{Stage: stage, Rows: 5, UpToDate: upToDate, Seconds: 1}, At: time.Unix(100, 0)}
	f.Epoch, f.Validation = &epoch, validation
	return f
}

func open(t *testing.T, dir string) *folder {
	t.Helper()
	m, err := (&Settings{dir}).Open(monitors.Job{})
	if err != nil {
		t.Fatal(err)
	}
	return m.(*folder)
}

// TestFiles: the names sort by epoch and stage, and a stage that runs again replaces
// its file.
func TestFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "logs")
	m := open(t, dir)
	var want []string
	for _, e := range []int{0, 1, 2, 10, 100} {
		for _, f := range []monitors.Figures{figures(e, "rollout", true, false), figures(e, "score", true, false), figures(e, "rollout", false, false),
			figures(e, "score", false, false),
			figures(e, "group", false, false), figures(e, "curate", false, false), figures(e, "submit", false, false)} {
			if err := m.Update(t.Context(), f); err != nil {
				t.Fatal(err)
			}
			want = append(want, fileName(f))
		}
	}
	names := func() (out []string) {
		list, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			out = append(out, e.Name())
		}
		return out
	}
	if got := names(); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	path := filepath.Join(dir, fileName(figures(0, "score", false, false)))
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := figures(0, "score", false, true)
	changed.Report.Rows = 6
	_ = m.Update(t.Context(), changed)
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("a stage that is up to date was written again")
	}
	changed.Report.UpToDate = false
	_ = m.Update(t.Context(), changed)
	if after, _ := os.ReadFile(path); bytes.Equal(before, after) || len(names()) != len(want) {
		t.Errorf("a stage that ran again was not written in place of the first: %v", names())
	}
}

// TestNotYet: a stage that runs, and a shard while others are missing, write nothing.
func TestNotYet(t *testing.T) {
	dir := t.TempDir()
	m := open(t, dir)
	part := figures(0, "score", false, false)
	part.Report.Missing = []int{1}
	for _, f := range []monitors.Figures{{}, part} {
		if err := m.Update(t.Context(), f); err != nil {
			t.Error(err)
		}
	}
	if list, _ := os.ReadDir(dir); len(list) > 0 {
		t.Errorf("%v", list)
	}
}

// TestFails: a folder that cannot be made is an error of the monitor.
func TestFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := open(t, filepath.Join(file, "logs")).Update(t.Context(), figures(0, "score", false, false)); err == nil {
		t.Error("no error")
	}
	if m, err := (&Settings{}).Open(monitors.Job{}); m != nil || err != nil {
		t.Error("a monitor without a folder")
	}
}
