package submit_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
	"github.com/rollmill/rollmill/storage/s3test"
)

// copiesSample are the backends of a run without COUNT: one of each way to find
// out what became of a submission.
var copiesSample = []string{"art", "art, atomic", "openai", "command"}

// TestRacingCopiesKilledAtRandom lets two machines submit a curated dataset and
// a copy of it at the same time, from two working folders, with clocks that
// disagree by minutes and receipts of their own; nobody tells them where the
// ledger is. At a moment that SEED chooses, one of them is killed, or stops for
// longer than its lease and goes on. COUNT times for each backend, on a disk and
// on a bucket: there is one job in the end, or a person is told, and never two.
func TestRacingCopiesKilledAtRandom(t *testing.T) {
	count, seed := number("COUNT", 1), number("SEED", 1)
	s3 := s3test.Start(t)
	var places atomic.Int64
	all := subjects()
	names := slices.Sorted(maps.Keys(all))
	if os.Getenv("COUNT") == "" {
		names = copiesSample
	}
	for _, store := range []string{"disk", "bucket"} {
		for _, name := range names {
			t.Run(store+"/"+name, func(t *testing.T) {
				t.Parallel()
				r := race{subject: all[name], store: func(t *testing.T) string { return t.TempDir() }}
				if store == "bucket" {
					r.store = func(t *testing.T) string { return s3.URI(fmt.Sprintf("place-%d", places.Add(1))) }
				}
				o, _ := r.place(t)
				o.Wait = true
				began := time.Now()
				if a := run(t, o); a.State != receipts.JobCompleted {
					t.Fatalf("%+v", a)
				}
				whole := time.Since(began)
				var mu sync.Mutex
				tally := map[string]int{}
				t.Run("trials", func(t *testing.T) {
					for i := range count {
						dice := rand.New(rand.NewPCG(uint64(seed), uint64(formats.Seed(int64(seed), store+name, fmt.Sprint(i)))))
						t.Run(fmt.Sprint(i), func(t *testing.T) {
							t.Parallel()
							came := r.trial(t, dice, whole)
							mu.Lock()
							defer mu.Unlock()
							tally[came]++
						})
					}
				})
				t.Logf("%d trials, %s undisturbed: %v", count, whole.Round(time.Millisecond), tally)
			})
		}
	}
}

// race is a backend and where a run's root is made.
type race struct {
	subject
	store func(t *testing.T) string
}

// place is a fresh batch in a run of its own, and how many jobs it made.
func (r race) place(t *testing.T) (order, func() int) {
	o, jobs := r.fresh(t)
	root := r.store(t)
	o.In = curatedIn(t, opened(t, root), storage.Join(root, "epoch-0", "curate"), rowsOf(0, 1, 2)...)
	o.Out, o.Ledger = storage.Join(root, "epoch-0", "submit"), ""
	return o, jobs
}

// copied is the same batch from another machine: a copy of the dataset
// elsewhere, and a receipt there.
func (r race) copied(t *testing.T, o order) order {
	t.Helper()
	d, err := dataset.Open(t.Context(), o.In, dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	at := storage.Join(r.store(t), "copy")
	o.In = curatedIn(t, d.Run, storage.Join(at, "curate"), rowsOf(0, 1, 2)...)
	if !o.Files { // whose place is what is submitted to
		o.Out = storage.Join(at, "submit")
	}
	return o
}

// trial says how it went.
func (r race) trial(t *testing.T, dice *rand.Rand, whole time.Duration) string {
	first, jobs := r.place(t)
	if first.Files {
		jobs = func() int { return present(t, first.Out, "_files.json") }
	}
	first.Wait, first.Lease, first.Machine = true, pausedLease, "first"
	second := r.copied(t, first)
	second.Machine, second.Skew = "second", time.Duration(dice.IntN(401)-200)*time.Second
	pause := dice.IntN(2) == 0

	victim, wait := inFolder(t, first)
	_, waitOther := inFolder(t, second)
	time.Sleep(time.Duration((0.1 + 1.2*dice.Float64()) * float64(whole))) // the moment is what is random here
	done := make(chan answer, 1)
	go func() { done <- waitOther() }()
	if pause {
		victim.Process.Signal(syscall.SIGSTOP)
		time.Sleep(2 * pausedLease)
		victim.Process.Signal(syscall.SIGCONT)
	} else {
		victim.Process.Kill()
	}
	a, b := wait(), <-done

	through := func(a answer) bool { return a.State == receipts.JobCompleted && a.Err == "" }
	person := func(a answer) bool { return r.person && a.Kind == fault.Person }
	first.Lease, second.Lease = 0, 0 // the usual one: a machine that is busy renews it in time
	var end answer
	for range 6 {
		if end = run(t, second); through(end) || person(end) {
			break
		}
	}
	if n := jobs(); !(through(end) && n == 1) && !(person(end) && n <= 1) {
		t.Errorf("the second: %+v, then %+v; the first: %+v; %d jobs", b, end, a, n)
	}
	n := jobs()
	if again := run(t, first); again.State != end.State && !through(again) && !person(again) || jobs() != n {
		t.Errorf("the first again: %+v, after %+v; %d jobs, then %d", again, end, n, jobs())
	}
	switch {
	case person(end):
		return "needs a person"
	case pause && through(a):
		return "went on after a pause"
	case pause:
		return "paused, and taken over"
	case a.killed:
		return "killed, and taken over"
	}
	return "ended before"
}

// inFolder starts a helper in a working folder of its own.
func inFolder(t *testing.T, o order) (*exec.Cmd, func() answer) {
	t.Helper()
	return helperIn(t, t.TempDir(), o)
}

func present(t *testing.T, uri, key string) int {
	t.Helper()
	if _, err := bucket(t, uri).Stat(t.Context(), key); err != nil {
		return 0
	}
	return 1
}
