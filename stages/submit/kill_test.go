package submit_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends/art/arttest"
	"github.com/rollmill/rollmill/storage/fault"
)

// TestKilledAnywhereTheBatchTrainsAtMostOnce kills a real process before and
// after each of its writes, while it sends, and while the server trains; then
// the same command is run again until it is through or asks for a person.
func TestKilledAnywhereTheBatchTrainsAtMostOnce(t *testing.T) {
	server, o := place(t, arttest.Faults{})
	calm := run(t, o)
	if calm.State != receipts.JobCompleted || calm.Ops < 6 || server.Jobs() != 1 {
		t.Fatalf("%+v, %d jobs", calm, server.Jobs())
	}
	points := []string{"submit", "begin", "event", "group 1", "group 2", "group 3"} // the first is in each sample
	for n := range calm.Ops {
		points = append(points, fmt.Sprintf("before %d", n+1), fmt.Sprintf("after %d", n+1))
	}
	for _, atomic := range []bool{false, true} {
		for _, point := range sampled(points) {
			t.Run(fmt.Sprintf("atomic=%v/%s", atomic, strings.ReplaceAll(point, " ", "-")), func(t *testing.T) {
				t.Parallel()
				killed(t, point, atomic)
			})
		}
	}
}

func killed(t *testing.T, point string, atomic bool) {
	server, o := place(t, arttest.Faults{Atomic: atomic})
	doomed := o
	doomed.Kill = point
	if a := run(t, doomed); !a.killed {
		t.Fatalf("it lived: %+v", a)
	}
	o.Wait = true
	var a answer
	for range 3 {
		if a = run(t, o); a.State != "" || a.Kind == fault.Person {
			break
		}
	}
	through := a.State == receipts.JobCompleted && a.Err == "" && server.Jobs() == 1
	person := !atomic && a.Kind == fault.Person && strings.Contains(a.Err, "it is unknown whether") && server.Jobs() <= 1
	if !through && !person {
		t.Errorf("%+v, %d jobs", a, server.Jobs())
	}
	// Whatever it was, once more changes nothing.
	before := server.Jobs()
	if again := run(t, o); again.State != a.State || again.Kind != a.Kind || server.Jobs() != before {
		t.Errorf("%+v, then %+v; %d jobs, then %d", a, again, before, server.Jobs())
	}
}

// TestKilledWhileTheServerTrains: the server has the batch, the sender is gone.
func TestKilledWhileTheServerTrains(t *testing.T) {
	for _, atomic := range []bool{false, true} {
		t.Run(fmt.Sprintf("atomic=%v", atomic), func(t *testing.T) {
			hold, received := make(chan struct{}), make(chan struct{})
			server, o := place(t, arttest.Faults{Atomic: atomic, Hold: hold, Received: func(string) { close(received) }})
			cmd, wait := helper(t, o)
			<-received
			cmd.Process.Kill()
			if !wait().killed {
				t.Fatal("it lived")
			}
			want := fault.Person // its step says nothing yet
			if atomic {
				want = fault.Temporary
			}
			if a := run(t, o); a.Kind != want {
				t.Errorf("while it trains: %+v", a)
			}
			close(hold)
			server.WaitBatches(1) // the training ends by itself
			o.Wait = true
			if a := run(t, o); a.State != receipts.JobCompleted || a.Err != "" || len(server.Batches()) != 1 {
				t.Errorf("after it: %+v, %d batches", a, len(server.Batches()))
			}
		})
	}
}

// TestPersonDecides: the two commands that the ambiguous state names.
func TestPersonDecides(t *testing.T) {
	ambiguous := func(t *testing.T) (*arttest.Server, order) {
		server, o := place(t, arttest.Faults{})
		doomed := o
		doomed.Kill = "group 2"
		run(t, doomed)
		if a := run(t, o); a.Kind != fault.Person || server.Jobs() != 0 {
			t.Fatalf("%+v, %d jobs", a, server.Jobs())
		}
		return server, o
	}
	t.Run("not trained", func(t *testing.T) {
		server, o := ambiguous(t)
		again := o
		again.Resubmit = true
		if a := run(t, again); a.State != receipts.JobCompleted || server.Jobs() != 1 {
			t.Fatalf("%+v, %d jobs", a, server.Jobs())
		}
		if a := run(t, o); !a.Attached || server.Jobs() != 1 {
			t.Errorf("%+v, %d jobs", a, server.Jobs())
		}
		if b := server.Batches()[0]; !strings.HasSuffix(b.Token, "-1") {
			t.Errorf("token %q", b.Token)
		}
		if !strings.Contains(ledgerText(t, o.Ledger), `"resubmit": "attempt 1`) {
			t.Error("the ledger does not say that it was sent again on purpose")
		}
	})
	t.Run("trained", func(t *testing.T) {
		server, o := ambiguous(t)
		server.Advance(4)
		taken := o
		taken.AssumeTrained = true
		if a := run(t, taken); a.State != receipts.JobCompleted || server.Jobs() != 0 {
			t.Fatalf("%+v, %d jobs", a, server.Jobs())
		}
		if a := run(t, o); !a.Attached || a.State != receipts.JobCompleted || server.Jobs() != 0 {
			t.Errorf("%+v, %d jobs", a, server.Jobs())
		}
		if !strings.Contains(ledgerText(t, o.Ledger), `"settled": "assume-trained"`) {
			t.Error("the ledger does not say that somebody's word was taken")
		}
	})
}

// ledgerText is every record in a ledger on disk.
func ledgerText(t *testing.T, dir string) string {
	t.Helper()
	out := &strings.Builder{}
	files := os.DirFS(dir + "/.rollmill")
	walk(t, files, func(data []byte) { out.Write(data) })
	return out.String()
}
