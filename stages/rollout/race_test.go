package rollout_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
	"github.com/rollmill/rollmill/storage/s3test"
)

// shortLease is what tests wait for where an owner falls silent.
const shortLease = time.Second

// places are a folder and a bucket, each empty.
func places(t *testing.T) map[string]string {
	return map[string]string{"folder": filepath.Join(t.TempDir(), "out"), "bucket": s3test.Start(t).URI("runs/out")}
}

// logText keeps what is logged.
type logText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (k *logText) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.text.Write(p)
}

func (k *logText) String() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.text.String()
}

func (k *logText) env() stages.Env { return stages.Env{Log: slog.New(slog.NewTextHandler(k, nil))} }

// TestTwoRolloutsOfOneShardPayOnce: the second says once that it waits, and
// ends with the same dataset.
func TestTwoRolloutsOfOneShardPayOnce(t *testing.T) {
	for name, out := range places(t) {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, &engine{Fault: func(int, recordertest.Request) recordertest.Fault {
				time.Sleep(20 * time.Millisecond)
				return recordertest.Fault{}
			}})
			const racers = 3
			reports, errs, said := [racers]stages.Report{}, [racers]error{}, logText{}
			var all sync.WaitGroup
			for i := range racers {
				all.Go(func() {
					o := options(e, out, killExamples)
					o.Env = said.env()
					reports[i], errs[i] = rollout.Run(context.Background(), o)
				})
			}
			all.Wait()
			check(t, errors.Join(errs[:]...))
			done := 0
			for _, r := range reports {
				if r.RowsDigest != reports[0].RowsDigest || !r.Sealed || r.Rows != 3*killExamples {
					t.Errorf("%+v", r)
				}
				done += b2i(!r.UpToDate)
			}
			if asked := len(e.Asked()); asked != 3*killExamples || done != 1 {
				t.Errorf("%d calls for %d trajectories; %d racers wrote the dataset", asked, 3*killExamples, done)
			}
			if n := strings.Count(said.String(), "another rollout of this shard is at work; waiting"); n < racers-1 || n > 2*(racers-1) { // of each owner once
				t.Errorf("%d racers said that they wait, %d times:\n%s", racers-1, n, said.String())
			}
			check(t, dataset.Verify(t.Context(), opened(t, out)))
		})
	}
}

// TestARolloutTakesOverFromOneThatSleeps: the other is stopped past its lease.
// When it goes on it begins no other attempt, and ends with the dataset of the one
// that took over.
func TestARolloutTakesOverFromOneThatSleeps(t *testing.T) {
	for name, out := range places(t) {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int64
			begun := make(chan bool, 1)
			e := newEngine(t, &engine{Arrived: func(int, recordertest.Request) {
				if asked.Add(1) == 10 {
					begun <- true
				}
			}, Fault: func(int, recordertest.Request) recordertest.Fault {
				time.Sleep(20 * time.Millisecond)
				return recordertest.Fault{}
			}})
			cmd, ended := victimOf(t, "ROLLOUT_TEST_VICTIM="+e.URL(), "ROLLOUT_TEST_OUT="+out, "ROLLOUT_TEST_LEASE="+shortLease.String())
			<-begun
			check(t, cmd.Process.Signal(syscall.SIGSTOP))
			said := logText{}
			o := options(e, out, killExamples)
			o.Env = said.env()
			began := time.Now()
			report := run(t, o)
			if took := time.Since(began); took < shortLease {
				t.Errorf("it waited %s for one that might have been at work:\n%s", took, said.String())
			}
			before := asked.Load()
			check(t, cmd.Process.Signal(syscall.SIGCONT))
			if err := <-ended; err != nil {
				t.Errorf("the one that slept: %v", err)
			}
			if more := asked.Load() - before; more > 4 { // what its attempts under way were about to ask
				t.Errorf("it asked %d times more", more)
			}
			if n, limit := asked.Load(), int64(3*killExamples+4*4); n > limit { // what was in flight, and what no segment held yet
				t.Errorf("%d calls, at most %d", n, limit)
			}
			if after := run(t, options(e, out, killExamples)); !after.UpToDate || after.RowsDigest != report.RowsDigest {
				t.Errorf("%+v, was %+v", after, report)
			}
			check(t, dataset.Verify(t.Context(), opened(t, out)))
		})
	}
}

// TestARolloutThatSleptWaitsForTheOneThatTookOver and is still at work.
func TestARolloutThatSleptWaitsForTheOneThatTookOver(t *testing.T) {
	var asked atomic.Int64
	begun, half := make(chan bool, 1), make(chan bool, 1)
	e := newEngine(t, &engine{Arrived: func(int, recordertest.Request) {
		switch asked.Add(1) {
		case 10:
			begun <- true
		case 30:
			half <- true
		}
	}, Fault: func(int, recordertest.Request) recordertest.Fault {
		time.Sleep(50 * time.Millisecond)
		return recordertest.Fault{}
	}})
	out := filepath.Join(t.TempDir(), "out")
	cmd, ended := victimOf(t, "ROLLOUT_TEST_VICTIM="+e.URL(), "ROLLOUT_TEST_OUT="+out, "ROLLOUT_TEST_LEASE="+shortLease.String())
	<-begun
	check(t, cmd.Process.Signal(syscall.SIGSTOP))
	other := make(chan error, 1)
	go func() {
		_, err := rollout.Run(context.Background(), options(e, out, killExamples))
		other <- err
	}()
	<-half
	check(t, cmd.Process.Signal(syscall.SIGCONT))
	check(t, <-other)
	if err := <-ended; err != nil {
		t.Errorf("the one that slept: %v", err)
	}
	if n, limit := asked.Load(), int64(3*killExamples+4*4); n > limit { // and what it began before it noticed
		t.Errorf("%d calls, at most %d", n, limit)
	}
	check(t, dataset.Verify(t.Context(), opened(t, out)))
}

// TestRestartDoesNotWaitForDeadOwner: on the same machine, however long the
// lease of the process that was killed.
func TestRestartDoesNotWaitForDeadOwner(t *testing.T) {
	for name, out := range places(t) {
		t.Run(name, func(t *testing.T) {
			begun := make(chan bool, 100)
			e := newEngine(t, &engine{Arrived: func(n int, _ recordertest.Request) {
				if n == 10 {
					begun <- true
				}
			}})
			cmd, ended := victimOf(t, "ROLLOUT_TEST_VICTIM="+e.URL(), "ROLLOUT_TEST_OUT="+out, "ROLLOUT_TEST_LEASE=1h")
			<-begun
			cmd.Process.Kill()
			<-ended
			said := logText{}
			o := options(e, out, killExamples)
			o.Env = said.env()
			run(t, o)
			if strings.Contains(said.String(), "waiting") {
				t.Error(said.String())
			}
		})
	}
}

// TestAnInterruptedRolloutLeavesNobodyWaiting, also on another machine.
func TestAnInterruptedRolloutLeavesNobodyWaiting(t *testing.T) {
	for name, out := range places(t) {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			e := newEngine(t, &engine{Arrived: func(n int, _ recordertest.Request) {
				if n == 10 {
					cancel()
				}
			}})
			o := options(e, out, killExamples)
			o.Lease = time.Hour
			if _, err := rollout.Run(ctx, o); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			said := logText{}
			o.Env = said.env()
			run(t, o)
			if strings.Contains(said.String(), "waiting") {
				t.Error(said.String())
			}
		})
	}
}

// TestOneThatWaitsCanBeInterrupted.
func TestOneThatWaitsCanBeInterrupted(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	release := make(chan bool)
	e := newEngine(t, &engine{Fault: func(int, recordertest.Request) recordertest.Fault {
		<-release
		return recordertest.Fault{}
	}})
	first := make(chan error, 1)
	go func() {
		_, err := rollout.Run(context.Background(), options(e, out, 1))
		first <- err
	}()
	for len(leases(t, out)) == 0 {
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if _, err := rollout.Run(ctx, options(e, out, 1)); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	close(release)
	check(t, <-first)
	if left := leases(t, out); len(left) > 0 {
		t.Error(fmt.Sprint("left: ", left))
	}
}

func leases(t *testing.T, out string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(out, ".rollmill", "*", "lease-*.json"))
	check(t, err)
	return names
}
