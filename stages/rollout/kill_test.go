package rollout_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/planning"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

const killExamples = 20

// victim is the process that tests kill.
func victim() {
	if turns := os.Getenv("ROLLOUT_TEST_TURNS"); turns != "" {
		talkingVictim(turns)
		return
	}
	o := optionsAt(os.Getenv("ROLLOUT_TEST_VICTIM"), os.Getenv("ROLLOUT_TEST_OUT"), killExamples)
	if o.Extend.URI = os.Getenv("ROLLOUT_TEST_EXTEND"); o.Extend.URI != "" {
		var err error
		if o.Plan, err = planning.OpenPlan(context.Background(), stages.Input{URI: os.Getenv("ROLLOUT_TEST_PLAN")}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if moment := os.Getenv("ROLLOUT_TEST_KEEP"); moment != "" {
		o.Agent, o.KeepWorkspace = &keeping{Agent: o.Agent, kill: moment}, true
	}
	o.Lease, _ = time.ParseDuration(os.Getenv("ROLLOUT_TEST_LEASE"))
	if _, err := rollout.Run(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestKillNine kills the process at several moments. What ends up written is
// an undisturbed run, and what was durable at a kill is never asked for again.
func TestKillNine(t *testing.T) {
	quiet := newEngine(t, &engine{})
	want := run(t, options(quiet, filepath.Join(t.TempDir(), "out"), killExamples))
	out := filepath.Join(t.TempDir(), "out")
	arrived := make(chan int, 1000)
	e := newEngine(t, &engine{Arrived: func(n int, _ recordertest.Request) { arrived <- n }})
	var paid []durable
	for _, after := range []int{5, 17, 30, 45} {
		cmd, ended := victimOf(t, "ROLLOUT_TEST_VICTIM="+e.URL(), "ROLLOUT_TEST_OUT="+out)
		for n := -1; n < after; {
			select {
			case n = <-arrived:
			case err := <-ended:
				t.Fatalf("the victim ended by itself after %d requests: %v", n, err)
			}
		}
		for after > 5 && len(segments(t, out)) == 0 { // until there is something to lose
			time.Sleep(time.Millisecond)
		}
		cmd.Process.Kill()
		<-ended
		paid = append(paid, durableNow(t, out, e))
	}
	if _, err := dataset.Open(t.Context(), out, dataset.OpenOptions{}); err == nil {
		t.Fatal("a dataset is there before the run has ended")
	}
	report := run(t, optionsAt(e.URL(), out, killExamples))
	if report.RowsDigest != want.RowsDigest {
		t.Errorf("digest %s, undisturbed %s", report.RowsDigest, want.RowsDigest)
	}
	t.Logf("%d trajectories", killExamples*3)
	neverAgain(t, e, paid)
}

// TestKillAnExtension kills a process that extends a dataset, at seeded moments
// up to when it would have ended: while it makes what is planned, and while it
// copies. What ends up written is an undisturbed run, every planned trajectory
// and every one of the base is there once, and what was durable at a kill is
// never asked for again.
func TestKillAnExtension(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	quiet := newEngine(t, &engine{})
	run(t, options(quiet, at("rollout"), killExamples))
	var planRows []planRow
	planned := 0
	for i := range killExamples {
		if n := r.IntN(9); n > 0 {
			planRows = append(planRows, planRow{example: fmt.Sprint("ex-", i), n: n})
			planned += n
		}
	}
	p := planOf(t, at("rollout"), at("curate"), planRows...)
	want := run(t, extending(options(quiet, "", killExamples), at("rollout"), p, at("want")))
	e := newEngine(t, &engine{})
	var paid []durable
	ended := false
	for kills := 0; kills < 16 && !ended; kills++ {
		cmd, gone := victimOf(t, "ROLLOUT_TEST_VICTIM="+e.URL(), "ROLLOUT_TEST_OUT="+at("out"), "ROLLOUT_TEST_EXTEND="+at("rollout"),
			"ROLLOUT_TEST_PLAN="+at("curate"))
		until, delay := len(e.Asked())+r.IntN(planned/2), 2*time.Millisecond
		if kills >= 8 { // up to about when it would have ended
			until, delay = 0, 200*time.Millisecond
		}
		moment := time.After(time.Duration(r.Int64N(int64(delay))))
		for due := false; !due && !ended; {
			select {
			case err := <-gone:
				check(t, err)
				ended = true
			case <-moment:
				moment = time.After(time.Millisecond) // look again, until there is something to lose
				due = len(e.Asked()) >= until && (kills != 1 || len(segments(t, at("out"))) > 0)
			}
		}
		if !ended {
			cmd.Process.Kill()
			ended = <-gone == nil
			paid = append(paid, durableNow(t, at("out"), e))
		}
	}
	report := run(t, extending(optionsAt(e.URL(), "", killExamples), at("rollout"), p, at("out")))
	if report.RowsDigest != want.RowsDigest || names(rows(t, at("out"))) != names(rows(t, at("want"))) {
		t.Errorf("digest %s, undisturbed %s", report.RowsDigest, want.RowsDigest)
	}
	seen := map[string]bool{}
	for _, row := range rows(t, at("out")) {
		if seen[row.TrajectoryID] {
			t.Errorf("%s:%d is there twice", row.ExampleID, row.Generation)
		}
		seen[row.TrajectoryID] = true
	}
	if len(seen) != 3*killExamples+planned {
		t.Errorf("%d trajectories, want %d of the base and %d more", len(seen), 3*killExamples, planned)
	}
	check(t, dataset.Verify(t.Context(), opened(t, at("out"))))
	t.Logf("%d planned trajectories; it ended by itself: %v", planned, ended)
	neverAgain(t, e, paid)
}

// neverAgain checks that nothing that was durable at a kill was asked for after it.
func neverAgain(t *testing.T, e *engine, paid []durable) {
	t.Helper()
	asked, kept := e.Asked(), 0
	for _, d := range paid {
		for _, q := range asked[d.asked:] {
			if d.seeds[string(q.Fields["seed"])] {
				t.Errorf("a trajectory that was durable after %d calls was asked for again", d.asked)
			}
		}
		kept = max(kept, len(d.seeds))
	}
	t.Logf("%d kills, %d calls, %d durable at the last kill", len(paid), len(asked), kept)
	if kept == 0 {
		t.Error("no kill found anything durable")
	}
}

// durable is what a journal held at a moment, as the seeds of first calls.
type durable struct {
	asked int // calls until then
	seeds map[string]bool
}

func durableNow(t *testing.T, out string, e *engine) durable {
	t.Helper()
	d := durable{seeds: map[string]bool{}}
	for _, name := range segments(t, out) {
		data, err := os.ReadFile(name)
		check(t, err)
		f, err := parquet.Open(bytes.NewReader(data), int64(len(data)), name)
		check(t, err)
		type id struct {
			TrajectoryID string `parquet:"trajectory_id"`
		}
		list := make([]id, f.Rows())
		r, err := parquet.NewReader[id](f, 0, f.Rows())
		check(t, err)
		if n, err := r.Read(list); n < len(list) {
			t.Fatal(err)
		}
		for _, row := range list {
			d.seeds[fmt.Sprint(formats.Seed(11, row.TrajectoryID, "call", "0"))] = true
		}
	}
	d.asked = len(e.Asked())
	return d
}

func segments(t *testing.T, out string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(out, ".rollmill", "*", "journal-0", "*.parquet"))
	check(t, err)
	return names
}

// victimOf starts this binary to be killed. The channel says how it ended.
func victimOf(t *testing.T, env ...string) (*exec.Cmd, <-chan error) {
	t.Helper()
	self, err := os.Executable()
	check(t, err)
	cmd := exec.Command(self, "-test.run=^$")
	cmd.Env, cmd.Stderr = append(os.Environ(), env...), os.Stderr
	check(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	return cmd, ended
}
