package submit_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends/art/arttest"
	"github.com/rollmill/rollmill/stages/backends/customizer/customizertest"
	"github.com/rollmill/rollmill/storage/fault"
)

// pausedLease is long enough for renewals on a busy machine.
const pausedLease = 3 * time.Second

// stopped waits until a process stands still, or has ended.
func stopped(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	for {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		state := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))[0]
		switch state {
		case "T":
			return
		case "Z", "X":
			t.Fatal("it ended before it was to stop")
		}
		select {
		case <-t.Context().Done():
			t.Fatal("it never stopped")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// TestSenderPausedPastLeaseSendsNothing stops a sender, from another
// machine whose clock is 200 s ahead or behind, at several steps and for longer
// than its lease; another takes over, and then the first goes on.
func TestSenderPausedPastLeaseSendsNothing(t *testing.T) {
	for backend, s := range map[string]subject{
		"art": {func(t *testing.T) (order, func() int) { server, o := place(t, arttest.Faults{}); return o, server.Jobs }, true},
		"art, atomic": {func(t *testing.T) (order, func() int) {
			server, o := place(t, arttest.Faults{Atomic: true})
			return o, server.Jobs
		}, false},
		"openai":     {fineTuning, false},
		"customizer": {customizing(customizertest.Faults{}), false},
		"command":    {program, false},
	} {
		points := []string{"begin", "before 5", "group 1", "group 3", "submit"}
		if os.Getenv("COUNT") == "" { // a sample
			points = []string{points[len(backend)%len(points)], "group 3"}
		}
		for i, point := range points {
			t.Run(backend+"/"+strings.ReplaceAll(point, " ", "-"), func(t *testing.T) {
				t.Parallel()
				pausedAt(t, s, point, time.Duration(200-400*(i%2))*time.Second)
			})
		}
	}
}

func pausedAt(t *testing.T, s subject, point string, skew time.Duration) {
	o, jobs := s.fresh(t)
	o.Wait, o.Lease = true, pausedLease
	first := o
	first.Stop, first.Machine, first.Skew = point, "first", skew
	cmd, wait := helper(t, first)
	stopped(t, cmd)
	second := o
	second.Machine = "second"
	_, end := helper(t, second)
	ended := make(chan answer, 1)
	go func() { ended <- end() }()
	var a answer
	select {
	case a = <-ended:
	case <-time.After(3 * pausedLease): // the trainer is busy with the first one's half of a request
	}
	cmd.Process.Signal(syscall.SIGCONT)
	woken := wait()
	if a == (answer{}) {
		a = <-ended
	}
	through := func(a answer) bool { return a.State == receipts.JobCompleted && a.Err == "" && jobs() == 1 }
	person := func(a answer) bool { return a.Kind == fault.Person && jobs() <= 1 }
	if jobs() > 1 {
		t.Errorf("%d jobs; the second: %+v, the first: %+v", jobs(), a, woken)
	}
	if !through(woken) && woken.Kind != fault.Temporary && woken.Kind != fault.Failed && !person(woken) {
		t.Errorf("the first: %+v, %d jobs", woken, jobs())
	}
	for range 3 {
		if through(a) || s.person && person(a) {
			break
		}
		a = run(t, second)
	}
	if !through(a) && !(s.person && person(a)) {
		t.Errorf("the second: %+v, the first: %+v, %d jobs", a, woken, jobs())
	}
	n := jobs()
	if again := run(t, second); again.State != a.State && !through(again) || jobs() > max(n, 1) {
		t.Errorf("%+v, then %+v; %d jobs, then %d", a, again, n, jobs())
	}
}

// TestClocksThatDisagreeChangeNothing: a sender is at work, and another machine
// whose clock is 200 s ahead or behind finds it alive; when the sender is
// killed, it finds it dead.
func TestClocksThatDisagreeChangeNothing(t *testing.T) {
	for _, skew := range []time.Duration{200 * time.Second, -200 * time.Second} {
		t.Run(skew.String(), func(t *testing.T) {
			t.Parallel()
			hold, received := make(chan struct{}), make(chan struct{})
			server, o := place(t, arttest.Faults{Atomic: true, Hold: hold, Received: func(string) { close(received) }})
			o.Lease, o.Wait = pausedLease, true
			first, second := o, o
			first.Machine, second.Machine, second.Skew = "first", "second", skew
			cmd, wait := helper(t, first)
			<-received
			if a := run(t, second); a.Kind != fault.Temporary || !strings.Contains(a.Err, "is submitting this batch") {
				t.Errorf("%+v", a)
			}
			cmd.Process.Kill()
			wait()
			close(hold)
			began := time.Now()
			if a := run(t, second); a.State != receipts.JobCompleted || a.Err != "" || server.Jobs() != 1 {
				t.Errorf("%+v, %d jobs", a, server.Jobs())
			}
			if took := time.Since(began); took < pausedLease {
				t.Errorf("the sender was taken for dead after %s, with a lease of %s", took, pausedLease)
			}
		})
	}
}
