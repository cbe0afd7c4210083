package rollout_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

const killExamples = 20

// victim is the process that TestKillNine kills.
func victim() {
	o := optionsAt(os.Getenv("ROLLOUT_TEST_VICTIM"), os.Getenv("ROLLOUT_TEST_OUT"), killExamples)
	if _, err := rollout.Run(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestKillNine kills the process at several moments. What ends up written is
// an undisturbed run, and each kill costs at most what was in flight: calls
// not answered, and trajectories that ended since the last segment began.
func TestKillNine(t *testing.T) {
	quiet := newEngine(t, &engine{})
	want := run(t, options(quiet, filepath.Join(t.TempDir(), "out"), killExamples))
	out := filepath.Join(t.TempDir(), "out")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	arrived := make(chan int, 1000)
	e := newEngine(t, &engine{Arrived: func(n int, _ recordertest.Request) { arrived <- n }})
	kills := 0
	for _, after := range []int{5, 17, 30, 45} {
		cmd := exec.Command(self, "-test.run=^$")
		cmd.Env = append(os.Environ(), "ROLLOUT_TEST_VICTIM="+e.URL(), "ROLLOUT_TEST_OUT="+out)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		for n := -1; n < after; {
			select {
			case n = <-arrived:
			case err := <-ended:
				t.Fatalf("the victim ended by itself after %d requests: %v", n, err)
			}
		}
		cmd.Process.Kill()
		<-ended
		kills++
	}
	if _, err := dataset.Open(t.Context(), out, dataset.OpenOptions{}); err == nil {
		t.Fatal("a dataset is there before the run has ended")
	}
	report := run(t, optionsAt(e.URL(), out, killExamples))
	if report.RowsDigest != want.RowsDigest {
		t.Errorf("digest %s, undisturbed %s", report.RowsDigest, want.RowsDigest)
	}
	const concurrency = 4
	asked, most := len(e.Asked()), killExamples*3+kills*3*concurrency
	t.Logf("%d trajectories, %d kills, %d calls", killExamples*3, kills, asked)
	if asked > most {
		t.Errorf("asked %d times, at most %d allowed", asked, most)
	}
}
