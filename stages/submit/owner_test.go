package submit_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends/art/arttest"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage/fault"
)

func TestALiveOwnerIsLeftAlone(t *testing.T) {
	hold, received := make(chan struct{}), make(chan struct{})
	server, place := place(t, arttest.Faults{Hold: hold, Received: func(string) { close(received) }})
	place.Lease = 2 * time.Second
	_, wait := helper(t, place)
	<-received
	if e := kind(t, options(t, place), fault.Temporary); !strings.Contains(e.Error(), "is submitting this batch") {
		t.Error(e)
	}
	again := options(t, place)
	again.Resubmit = true
	kind(t, again, fault.Temporary)
	close(hold)
	if a := wait(); a.State != receipts.JobCompleted || server.Jobs() != 1 {
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
			var e *fault.Error
			if err == nil && result.Receipt.State == receipts.JobCompleted || errors.As(err, &e) && e.Kind == fault.Temporary {
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
