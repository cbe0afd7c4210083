package submit_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/backends/art/arttest"
	"github.com/rollmill/rollmill/stages/submit"
)

func TestALiveOwnerIsLeftAlone(t *testing.T) {
	hold, received := make(chan struct{}), make(chan struct{})
	server, place := place(t, arttest.Faults{Hold: hold, Received: func(string) { close(received) }})
	_, wait := helper(t, place)
	<-received
	if e := kind(t, options(t, place), stages.KindTemporary); !strings.Contains(e.Error(), "is submitting this batch") {
		t.Error(e)
	}
	again := options(t, place)
	again.Resubmit = true
	kind(t, again, stages.KindTemporary)
	close(hold)
	if a := wait(); a.State != formats.JobCompleted || server.Jobs() != 1 {
		t.Errorf("%+v", a)
	}
	if r := completes(t, options(t, place)); !r.Attached {
		t.Error("it was sent again")
	}
}

func TestRacersTrainOnce(t *testing.T) {
	server, place := place(t, arttest.Faults{})
	var all sync.WaitGroup
	for range 8 {
		o := options(t, place)
		all.Go(func() {
			result, err := submit.Run(t.Context(), o)
			var e *stages.Error
			if err == nil && result.Receipt.State == formats.JobCompleted || errors.As(err, &e) && e.Kind == stages.KindTemporary {
				return
			}
			t.Errorf("%+v, %v", result.Receipt, err)
		})
	}
	all.Wait()
	if server.Jobs() != 1 {
		t.Errorf("%d jobs", server.Jobs())
	}
}

// clock is set by hand.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// sleeper lets the owner sleep with the batch half sent.
type sleeper struct {
	submit.Trainer
	asleep, wake chan struct{}
}

func (s sleeper) Submit(ctx context.Context, sub formats.Submission, groups formats.Groups, event func(formats.JobEvent)) (formats.Outcome, error) {
	return s.Trainer.Submit(ctx, sub, func(yield func([]formats.Trajectory, error) bool) {
		first := true
		groups(func(rows []formats.Trajectory, err error) bool {
			if first {
				close(s.asleep)
				<-s.wake
			}
			first = false
			return yield(rows, err)
		})
	}, event)
}

// TestAZombieSendsNothing: an owner sleeps beyond its lease, another run takes
// the submission over and trains, and then the first one wakes up.
func TestAZombieSendsNothing(t *testing.T) {
	server, place := place(t, arttest.Faults{Atomic: true})
	now := &clock{now: time.Unix(1_800_000_000, 0)}
	first := options(t, place)
	first.Now = now.Now
	nap := sleeper{first.Trainer, make(chan struct{}), make(chan struct{})}
	first.Trainer = nap
	ended := make(chan error, 1)
	go func() {
		_, err := submit.Run(context.WithoutCancel(t.Context()), first)
		ended <- err
	}()
	<-nap.asleep
	second := options(t, place)
	second.Now = now.Now
	kind(t, second, stages.KindTemporary) // the lease holds
	now.pass(2 * time.Minute)
	// The server has seen the zombie's request begin, and then is busy with it,
	// or it has not, and then the batch is sent again at once.
	result, err := submit.Run(t.Context(), second)
	var e *stages.Error
	if err != nil && !(errors.As(err, &e) && e.Kind == stages.KindTemporary) {
		t.Errorf("%+v, %v", result.Receipt, err)
	}
	close(nap.wake)
	err = <-ended
	if !errors.As(err, &e) || e.Kind != stages.KindTemporary || !strings.Contains(err.Error(), "lease") {
		t.Errorf("the zombie: %v", err)
	}
	completes(t, second)
	if server.Jobs() != 1 {
		t.Errorf("%d jobs", server.Jobs())
	}
}

// TestAnOwnerThatSleptBeforeSendingIsFenced: its place in the ledger is taken.
func TestAnOwnerThatSleptBeforeSendingIsFenced(t *testing.T) {
	server, place := place(t, arttest.Faults{})
	now := &clock{now: time.Unix(1_800_000_000, 0)}
	first, second := options(t, place), options(t, place)
	first.Now, second.Now = now.Now, now.Now
	nap := drowsy{first.Trainer, make(chan struct{}), make(chan struct{})}
	first.Trainer = nap
	ended := make(chan error, 1)
	go func() {
		_, err := submit.Run(context.WithoutCancel(t.Context()), first)
		ended <- err
	}()
	<-nap.asleep
	now.pass(2 * time.Minute)
	completes(t, second)
	close(nap.wake)
	var e *stages.Error
	if err := <-ended; !errors.As(err, &e) || e.Kind != stages.KindTemporary || !strings.Contains(err.Error(), "took this submission over") {
		t.Errorf("the sleeper: %v", err)
	}
	if len(server.Batches()) != 1 {
		t.Errorf("%d batches", len(server.Batches()))
	}
}

// drowsy sleeps while it makes the trainer ready.
type drowsy struct {
	submit.Trainer
	asleep, wake chan struct{}
}

func (d drowsy) Begin(ctx context.Context, known *formats.Policy) (formats.Standing, error) {
	close(d.asleep)
	<-d.wake
	return d.Trainer.Begin(ctx, known)
}

func TestAnInterruptedSubmissionIsResolvedByTheNext(t *testing.T) {
	for _, atomic := range []bool{false, true} {
		hold, received := make(chan struct{}), make(chan struct{})
		server, place := place(t, arttest.Faults{Atomic: atomic, Hold: hold, Received: func(string) { close(received) }})
		ctx, cancel := context.WithCancel(t.Context())
		o := options(t, place)
		ended := make(chan error, 1)
		go func() {
			_, err := submit.Run(ctx, o)
			ended <- err
		}()
		<-received
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		close(hold)
		o.Wait = true
		server.WaitBatches(1) // it ends by itself
		completes(t, o)
		if len(server.Batches()) != 1 {
			t.Errorf("%d batches", len(server.Batches()))
		}
	}
}
