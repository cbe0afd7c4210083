package submit_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/foreign/art"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/backends/art/arttest"
)

var long = flag.Bool("long", false, "run the tests that take minutes")

func number(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
		return n
	}
	return otherwise
}

// sampled returns a fifth of a list in a short run, else all of it.
func sampled[T any](list []T) (some []T) {
	for i, x := range list {
		if !testing.Short() || i%5 == 0 {
			some = append(some, x)
		}
	}
	return some
}

// TestWireForm makes ART's wire form of a curated dataset, beside what the
// harness does to the same rows in Python, and then hands a larger one over to
// a server and to files, each in a process of its own: make bench/submit.
// COMPARED and LARGE are how many trajectories, of about 1,500 sampled tokens each.
//
// Whether it is fast enough is for people to judge by what it prints: no test
// fails by the clock. It fails when memory grows with the batch.
func TestWireForm(t *testing.T) {
	if !*long {
		t.Skip("takes minutes; -long runs it")
	}
	dir := t.TempDir()
	in := dir + "/curate"
	rows := large(t, in, number("COMPARED", 1600))
	fmt.Printf("%d rows; load average %s\n%-34s %9s %9s %9s %9s %9s\n", rows, loadavg(), "", "seconds", "rows/s", "MB", "MB/s", "peak MiB")
	ours := show("rollmill: curated to wire form", rows, spend(t, order{In: in, Out: dir, Ledger: dir, Wire: true}))
	theirs := show("harness: pydantic, model_dump", rows, harness(t, in))
	fmt.Printf("rows a second that rollmill reads, checks and writes, to those that the harness converts from memory: %.0f (aim: at least 20)\n",
		theirs.Seconds/ours.Seconds)

	in = dir + "/large"
	rows = large(t, in, number("LARGE", 8000))
	server := arttest.New(arttest.Legacy, arttest.Faults{Discard: true})
	defer server.Close()
	host, port := server.Addr()
	o := order{In: in, Out: dir + "/art", Ledger: dir + "/art", Host: host, Port: port, Resubmit: true}
	handed := spend(t, o)
	o.Files, o.Out, o.Ledger = true, dir+"/files", dir+"/files"
	written := spend(t, o)
	if info, err := os.Stat(dir + "/files/art.jsonl"); err == nil {
		handed.Bytes, written.Bytes = info.Size(), info.Size()
	}
	for name, c := range map[string]answer{"rollmill submit to an ART server": handed, "rollmill submit to a file": written} {
		if show(name, rows, c); c.State != receipts.JobCompleted || c.Peak >= 256<<20 {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

func show(name string, rows int64, m answer) answer {
	fmt.Printf("%-34s %9.2f %9.0f %9d %9.0f %9d\n", name, m.Seconds, float64(rows)/m.Seconds, m.Bytes/1e6, float64(m.Bytes)/1e6/m.Seconds, m.Peak>>20)
	return m
}

func loadavg() string {
	text, _ := os.ReadFile("/proc/loadavg")
	return strings.Join(strings.Fields(string(text) + " unknown")[:1], "")
}

// spend runs a helper and looks at what it took.
func spend(t *testing.T, o order) answer {
	t.Helper()
	started := time.Now()
	m := run(t, o)
	if m.Seconds == 0 {
		m.Seconds = time.Since(started).Seconds()
	}
	if m.Err != "" {
		t.Fatal(m.Err)
	}
	return m
}

// peak is this process's own: what the system tells of a child that has ended
// counts its parent's, too, from before it became another program.
func peak() (kilobytes int64) {
	text, _ := os.ReadFile("/proc/self/status")
	if _, after, found := strings.Cut(string(text), "VmHWM:"); found {
		fmt.Sscan(after, &kilobytes)
	}
	return kilobytes << 10
}

// harness is the Python conversion.
func harness(t *testing.T, in string) (m answer) {
	t.Helper()
	python := os.Getenv("ROLLMILL_PYTHON")
	if python == "" {
		python = "../../.venv-art-0.5.17/bin/python"
	}
	cmd := exec.Command(python, "../../testdata/bench/wire_harness.py", in)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s", python, err, out)
	}
	if err := json.Unmarshal(out, &m); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	return m
}

// large writes a curated dataset of that many rows, or a few more.
func large(t *testing.T, uri string, rows int) int64 {
	t.Helper()
	s, err := shards.Begin(t.Context(), uri, manifest.Spec{Stage: "curate", Version: 1, Kind: schema.KindTrajectories}, shards.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := shards.NewTable[formats.Trajectory](s, "", -1)
	n := int64(0)
	for g := range randomtest.Trajectories(1, randomtest.Options{Groups: (rows + 7) / 8, Scored: true}) {
		for i := range g {
			g[i].GroupID = formats.GroupID(g[i].ExampleID, int(g[i].Epoch))
		}
		if err := w.Write(t.Context(), g); err != nil {
			t.Fatal(err)
		}
		n += int64(len(g))
	}
	if _, err := s.Commit(t.Context(), shards.Outcome{}); err != nil {
		t.Fatal(err)
	}
	return n
}

// convert is the whole way from the dataset to the bytes that ART is sent.
func convert(o order) (a answer) {
	ctx := context.Background()
	started := time.Now()
	d, err := dataset.Open(ctx, o.In, dataset.OpenOptions{})
	if err != nil {
		return answer{Err: err.Error()}
	}
	var buf []byte
	sound := true
	group := func(t *formats.Trajectory) string { return t.GroupID }
	err = dataset.Groups(ctx, d, "", d.All(), group, func(_ int64, rows []formats.Trajectory) error {
		art.Check(rows, art.Limits{}, func(art.Problem) { sound = false })
		buf = art.AppendGroup(buf[:0], rows)
		a.Bytes += int64(len(buf))
		return nil
	})
	if err != nil || !sound {
		return answer{Err: fmt.Sprint("not sound: ", err)}
	}
	a.Seconds = time.Since(started).Seconds()
	return a
}
