package score_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/random"
)

var long = flag.Bool("long", false, "run the tests that take minutes")

// TestRescore scores a stored epoch anew with an expression over the answer,
// beside the same job, with the same columns written, in pyarrow, DuckDB and
// polars and beside reading the dataset whole, each in a process of its own:
// make bench/score. ROWS is how many trajectories, of about 20 messages and 2,000
// sampled tokens each; RUNS how often each job runs, of which the fastest counts.
// Each takes a thread for each processor, which is what all of them do unless told;
// the times of those in Python are those of the query, without starting Python.
//
// Whether it is fast enough is for people to judge by what it prints: no test
// fails by the clock.
func TestRescore(t *testing.T) {
	if !*long {
		t.Skip("takes minutes; -long runs it")
	}
	size, runs := number("ROWS", 5000), number("RUNS", 3)
	dir := t.TempDir()
	in := dir + "/rollout"
	if out, err := exec.Command(os.Args[0], "write", in, strconv.Itoa(size/8)).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	d, err := dataset.Open(t.Context(), in, dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("%d trajectories, %d MB in %d parts; %s; the files are in the page cache\n", d.Rows, d.Bytes>>20, len(d.Parts), load())
	fmt.Printf("%-34s %9s %9s %9s %16s %16s\n", "", "seconds", "CPU s", "peak MiB", "read MB (%)", "written MB (%)")
	measured := func(name string, runs int, out string, words ...string) cost {
		var all []cost
		for range runs {
			if out != "" {
				os.RemoveAll(out)
			}
			all = append(all, spend(t, words...))
		}
		slices.SortFunc(all, func(a, b cost) int { return int(a.wall - b.wall) })
		c := all[0]
		c.written = sizeOf(t, out)
		share := func(n int64) string {
			return fmt.Sprintf("%.1f (%.2f)", float64(n)/1e6, 100*float64(n)/float64(d.Bytes))
		}
		fmt.Printf("%-34s %9.2f %9.2f %9d %16s %16s\n", name, c.wall.Seconds(), c.cpu.Seconds(), c.peak>>20, share(c.read), share(c.written))
		return c
	}
	measured("cat: every byte", 1, "", "sh", "-c", "cat "+in+"/*.parquet >/dev/null")
	whole := measured("rollmill: every column, decoded", 1, "", os.Args[0], "scan", in)
	py := python(t)
	ours := measured("rollmill score", runs, dir+"/score", rollmill(t), "score", "--in", in, "--out", dir+"/score", "--quiet", "--reward", "short=expr:len(answer) < 100 ? 1 : 0")
	arrow := measured("Python with pyarrow", runs, dir+"/arrow.parquet", py, "../../testdata/bench/rescore_pyarrow.py", in, dir+"/arrow.parquet")
	duck := measured("DuckDB", runs, dir+"/duck.parquet", py, "../../testdata/bench/rescore_duckdb.py", in, dir+"/duck.parquet")
	polars := measured("polars", runs, dir+"/polars.parquet", py, "../../testdata/bench/rescore_polars.py", in, dir+"/polars.parquet")
	fmt.Printf("rollmill score takes %.1f %% of the time of decoding everything\n", 100*ours.wall.Seconds()/whole.wall.Seconds())
	for name, c := range map[string]cost{"pyarrow": arrow, "DuckDB": duck, "polars": polars} {
		fmt.Printf("score, rollmill to %s: %.2f (aim: at most 0.83)\n", name, ours.wall.Seconds()/c.wall.Seconds())
		fmt.Printf("the same in CPU time: %.2f\n", ours.cpu.Seconds()/c.cpu.Seconds())
	}

	_, scored := rows(t, dir+"/score")
	want := answer{d.Rows, scored.Counts["scored"], scored.Facts["reward_sum"]}
	if arrow.said != want || duck.said != want || polars.said != want {
		t.Errorf("rollmill says %+v, pyarrow %+v, DuckDB %+v and polars %+v", want, arrow.said, duck.said, polars.said)
	}
	if ours.peak >= 1<<30 {
		t.Errorf("score took %d MiB of memory", ours.peak>>20)
	}
	if written := float64(ours.written) / float64(d.Bytes); written >= 0.02 {
		t.Errorf("score wrote %.2f %% of the dataset's bytes", 100*written)
	}
}

func number(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
		return n
	}
	return otherwise
}

// load is what else the machine was doing.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "load unknown"
	}
	return "load average " + strings.Join(strings.Fields(string(text))[:3], " ")
}

// python has pyarrow, DuckDB and polars.
func python(t *testing.T) string {
	for _, p := range []string{os.Getenv("ROLLMILL_PYTHON"), "../../.venv-data/bin/python"} {
		if p != "" && exec.Command(p, "-c", "import pyarrow, duckdb, polars").Run() == nil {
			return p
		}
	}
	t.Fatal("no Python with pyarrow, DuckDB and polars: run .ci/venv data, or set ROLLMILL_PYTHON")
	return ""
}

// rollmill is the program, built.
func rollmill(t *testing.T) string {
	bin := filepath.Join(t.TempDir(), "rollmill")
	if out, err := exec.Command("go", "build", "-o", bin, "../../cmd/rollmill").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return bin
}

// cost is what a process took, with all that it started.
type cost struct {
	wall, cpu     time.Duration
	peak          int64 // bytes of memory
	read, written int64
	said          answer
}

// answer is what the other programs say of their rewards.
type answer struct {
	Rows   int64
	Scored int64
	Sum    float64
}

// spend runs a process under a shell that reports how many bytes it read:
// those that passed a read call, from the disk or not.
func spend(t *testing.T, words ...string) cost {
	t.Helper()
	cmd := exec.Command("sh", append([]string{"-c", `"$@"; s=$?; cat /proc/$$/io >&2; exit $s`, "sh"}, words...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	started := time.Now()
	if err := cmd.Run(); err != nil {
		t.Fatalf("%q: %v\n%s", words, err, &errs)
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	c := cost{wall: time.Since(started), cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), peak: usage.Maxrss << 10}
	if _, text, ok := strings.Cut(errs.String(), "rchar: "); ok {
		c.read, _ = strconv.ParseInt(strings.Fields(text)[0], 10, 64)
	}
	_ = json.Unmarshal(out.Bytes(), &c.said) // of the others, none
	var own struct{ Wall, CPU float64 }
	if json.Unmarshal(out.Bytes(), &own) == nil && own.Wall > 0 { // without starting Python
		c.wall, c.cpu = time.Duration(own.Wall*1e9), time.Duration(own.CPU*1e9)
	}
	return c
}

func sizeOf(t *testing.T, path string) (n int64) {
	if path == "" {
		return 0
	}
	err := filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// child is the test binary asked to be another process.
func child(words []string) error {
	ctx := context.Background()
	switch words[0] {
	case "write":
		groups, err := strconv.Atoi(words[2])
		if err != nil {
			return err
		}
		return writeRealistic(ctx, words[1], groups, 0.05)
	case "scan":
		d, err := dataset.Open(ctx, words[1], dataset.OpenOptions{})
		if err != nil {
			return err
		}
		r, err := dataset.NewReader[formats.Trajectory](ctx, d, "", d.All())
		if err != nil {
			return err
		}
		defer r.Close()
		for batch := make([]formats.Trajectory, 64); err == nil; {
			_, err = r.Read(batch)
		}
		if !errors.Is(err, io.EOF) {
			return err
		}
		return nil
	}
	return fmt.Errorf("%q is nothing to be", words[0])
}

// writeRealistic writes trajectories of the size that real ones have: 20
// messages and about 2,000 sampled tokens each.
func writeRealistic(ctx context.Context, uri string, groups int, failures float64) error {
	shard, err := dataset.Begin(ctx, uri, dataset.Spec{Stage: "rollout", Version: 1, Kind: formats.KindTrajectories}, dataset.Options{})
	if err != nil {
		return err
	}
	table := dataset.NewTable[formats.Trajectory](shard, "", -1)
	for group := range random.Trajectories(3, random.Options{Groups: groups, Generations: 8, Messages: 20, SampledTokens: 2000, Failures: failures}) {
		if err := table.Write(ctx, group); err != nil {
			return errors.Join(err, shard.Discard())
		}
	}
	_, err = shard.Commit(ctx, dataset.Outcome{})
	return err
}
